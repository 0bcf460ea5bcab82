//! The arrays of the columns and of what they tell about each other.

use super::Conditional;
use super::absence::Absence;
use super::bins::Bins;
use super::column::{Column, MOST_SLOTS};
use super::link::Link;
use super::pool::Target;
use crate::cells::recipe::Recipe;
use crate::cells::storage::{end, fixed, pieces};
use crate::columns::Layout;
use crate::files::{Loaded, Tensors};

/// Numbers that are kept of each number, beside its bins.
const OF_A_NUMBER: usize = 6;

impl Conditional {
    pub fn write(&self, tensors: &mut Tensors) {
        let (of_numbers, of_groups) = self.columns.split_at(self.layout.n_numbers());
        let bins: Vec<&Bins> = of_numbers.iter().filter_map(|column| column.bins.as_ref()).collect();
        tensors.put("bins", bins.iter().map(|bins| bins.len() as u32).collect());
        tensors.put("edges", bins.iter().flat_map(|bins| bins.edges.iter().copied()).collect::<Vec<f32>>());
        tensors.put("knots", bins.iter().flat_map(|bins| bins.knots.iter().flatten().copied()).collect::<Vec<f32>>());
        tensors.put("ends", bins.iter().flat_map(|bins| bins.ends).collect::<Vec<f32>>());
        tensors.put(
            "scales",
            bins.iter().flat_map(|bins| bins.moments.into_iter().chain(bins.excess)).collect::<Vec<f64>>(),
        );
        let counts =
            |columns: &[Column]| columns.iter().flat_map(|column| column.counts.iter().copied()).collect::<Vec<u32>>();
        tensors.put("bin_counts", counts(of_numbers));
        tensors.put("category_counts", counts(of_groups));
        tensors.put("missing", of_groups.iter().map(|column| column.n_missing).collect());

        let targets = || self.targets.iter().chain(self.absences.iter().flatten().map(|absence| &absence.target));
        let links = || targets().flat_map(|target| &target.links);
        tensors.put("shares", targets().map(|target| target.share).collect());
        tensors.put("links", targets().map(|target| target.links.len() as u32).collect());
        tensors.put("contexts", links().map(|link| link.context as u32).collect());
        tensors.put("priors", links().map(|link| link.prior_rows).collect());
        tensors.put("weights", links().map(|link| link.weight).collect());
        tensors.put("starts", links().flat_map(|link| link.starts.iter().copied()).collect::<Vec<u32>>());
        tensors.put(
            "pair_slots",
            links().flat_map(|link| link.slots.iter().map(|slot| u32::from(*slot))).collect::<Vec<u32>>(),
        );
        tensors.put("pair_counts", links().flat_map(|link| link.counts.iter().copied()).collect::<Vec<u32>>());
    }

    pub fn read(recipe: &Recipe, layout: &Layout, tensors: &mut Tensors) -> Loaded<Self> {
        if (0..layout.n_groups()).any(|group| layout.size(group) > MOST_SLOTS) {
            return Err(format!("a group has more than {MOST_SLOTS} categories").into());
        }
        let columns = read_columns(recipe, layout, tensors)?;
        let presences: Vec<Option<Column>> = columns.iter().map(Column::presence).collect();
        let mut targets = read_targets(recipe, &columns, presences.iter().flatten(), tensors)?;
        let mut of_absences = targets.split_off(columns.len()).into_iter();
        let mut absence = |column: Column| Some(Absence { target: of_absences.next()?, column });
        let absences = presences.into_iter().map(|column| column.and_then(&mut absence)).collect();
        Ok(Self { layout: layout.clone(), columns, targets, absences })
    }
}

fn read_columns(recipe: &Recipe, layout: &Layout, tensors: &mut Tensors) -> Loaded<Vec<Column>> {
    let n_numbers = layout.n_numbers();
    let n_bins: Vec<u32> = tensors.take("bins", n_numbers)?;
    if n_bins.iter().any(|n| *n as usize > MOST_SLOTS) {
        return Err("tensor `bins` holds what is not a number of bins".into());
    }
    let bins = pieces(n_bins.iter().map(|n| *n as usize));
    let edges = pieces(n_bins.iter().map(|n| n.saturating_sub(1) as usize));
    let all_edges: Vec<f32> = tensors.take("edges", end(&edges))?;
    let all_knots: Vec<f32> = tensors.take("knots", 4 * end(&bins))?;
    let all_ends: Vec<f32> = tensors.take("ends", 4 * n_numbers)?;
    let all_scales: Vec<f64> = tensors.take("scales", OF_A_NUMBER * n_numbers)?;
    let bin_counts: Vec<u32> = tensors.take("bin_counts", end(&bins))?;
    let category_counts: Vec<u32> = tensors.take("category_counts", layout.width() - n_numbers)?;
    let missing: Vec<u32> = tensors.take("missing", layout.n_groups())?;
    let mut columns = Vec::new();
    for number in 0..n_numbers {
        let [mean, deviation, scale, step, below, above] = fixed(&all_scales[OF_A_NUMBER * number..]);
        let of_number = Bins {
            edges: all_edges[edges[number].clone()].to_vec(),
            knots: bins[number].clone().map(|bin| fixed(&all_knots[4 * bin..])).collect(),
            moments: [mean, deviation, scale, step],
            excess: [below, above],
            straight: recipe.straight,
            ends: fixed(&all_ends[4 * number..]),
        };
        let counts = bin_counts[bins[number].clone()].to_vec();
        let ordered = of_number.edges.is_sorted() && of_number.knots.iter().all(|knots| knots.is_sorted());
        let positive = [deviation, scale, step, below, above].iter().all(|value| *value > 0.0);
        if !ordered || !positive || !of_number.ends.is_sorted() || counts.contains(&0) {
            return Err(format!("the bins of number {number} are not usable").into());
        }
        columns.push(Column::number(recipe, Some(of_number), counts));
    }
    for (group, n_missing) in missing.into_iter().enumerate() {
        let places = layout.group(group);
        let mut counts = category_counts[places.start - n_numbers..places.end - n_numbers].to_vec();
        let missing = layout.missing(group).and_then(|code| counts.get_mut(code as usize));
        match missing {
            Some(count) => *count = count.saturating_add(n_missing),
            None if n_missing > 0 => return Err(format!("group {group} cannot be missing").into()),
            None => {}
        }
        columns.push(Column::group(layout, group, counts));
    }
    Ok(columns)
}

/// The targets of all columns, and of the choices whether columns miss their values.
fn read_targets<'a>(
    recipe: &Recipe,
    columns: &'a [Column],
    presences: impl Iterator<Item = &'a Column>,
    tensors: &mut Tensors,
) -> Loaded<Vec<Target>> {
    let chosen: Vec<&Column> = columns.iter().chain(presences).collect();
    let shares: Vec<f64> = tensors.take("shares", chosen.len())?;
    let n_links: Vec<u32> = tensors.take("links", chosen.len())?;
    let most = columns.len();
    if n_links.iter().any(|n| *n as usize > most) || shares.iter().any(|share| !(0.0..=1.0).contains(share)) {
        return Err("the links of a column are not usable".into());
    }
    let of_target = pieces(n_links.iter().map(|n| *n as usize));
    let n_links = end(&of_target);
    let contexts: Vec<u32> = tensors.take("contexts", n_links)?;
    let priors: Vec<f64> = tensors.take("priors", n_links)?;
    let weights: Vec<f64> = tensors.take("weights", n_links)?;
    if contexts.iter().any(|context| *context as usize >= columns.len()) {
        return Err("tensor `contexts` names a column that is not there".into());
    }
    if !priors.iter().all(|a| (1e-6..=1e9).contains(a))
        || !weights.iter().all(|weight| (0.0..=recipe.largest_weight).contains(weight))
    {
        return Err("the weight of a link is out of its range".into());
    }
    let slots_of = |link: usize| columns[contexts[link] as usize].n_slots();
    let starts_of = pieces((0..n_links).map(|link| slots_of(link) + 1));
    let starts: Vec<u32> = tensors.take("starts", end(&starts_of))?;
    let pairs_of = pieces(starts_of.iter().map(|range| starts[range.end - 1] as usize));
    let pair_slots: Vec<u32> = tensors.take("pair_slots", end(&pairs_of))?;
    let pair_counts: Vec<u32> = tensors.take("pair_counts", end(&pairs_of))?;
    let mut targets = Vec::new();
    for ((links, share), column) in of_target.into_iter().zip(shares).zip(chosen) {
        let mut target = Target::new(Vec::new(), share);
        for link in links {
            let starts = starts[starts_of[link].clone()].to_vec();
            let slots = &pair_slots[pairs_of[link].clone()];
            let usable = |slot: &u32| column.counts.get(*slot as usize).is_some_and(|count| *count > 0);
            let ordered = starts[0] == 0 && starts.is_sorted() && slots.iter().all(usable);
            let ascending = |pair: &[u32]| slots[pair[0] as usize..pair[1] as usize].is_sorted_by(|a, b| a < b);
            let counts = pair_counts[pairs_of[link].clone()].to_vec();
            if !ordered || !starts.windows(2).all(ascending) || counts.contains(&0) {
                return Err("the pairs of a link are not usable".into());
            }
            let mut link = Link {
                context: contexts[link] as usize,
                prior_rows: priors[link],
                weight: weights[link],
                starts,
                slots: slots.iter().map(|slot| *slot as u16).collect(),
                counts,
                ratios: Vec::new(),
                ln_rows: Vec::new(),
            };
            link.finish(column);
            target.links.push(link);
        }
        targets.push(target);
    }
    Ok(targets)
}
