//! A model's arrays: written, read back and checked.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Cells;
use super::absence::Absence;
use super::bins::Bins;
use super::classes::{Classes, MOST_CLASSES, share_of_categories};
use super::column::{Column, MOST_SLOTS};
use super::evidence::KINDS;
use super::link::Link;
use super::neighbours::References;
use super::pool::Target;
use super::sample::{Limits, MOST_REFERENCES};
use super::tail::{FIGURES, RowTail, TOP, Tail, Tails};
use super::walk::{Walk, share_of_values};
use super::without::Without;
use crate::columns::Layout;
use crate::density::BulkTail;
use crate::files::{Loaded, Store, Tensors};

/// What is stored as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredCells {
    /// The largest keys of counted rows, of calibrated ones and of references.
    limits: [u64; 3],
}

/// Numbers that are kept of each number, beside its bins.
const OF_A_NUMBER: usize = 6;

impl Store for Cells {
    type Document = StoredCells;
    type Shape = Layout;

    fn write(&self, tensors: &mut Tensors) -> serde_json::Result<StoredCells> {
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

        let References { codes, numbers, copies, scales, .. } = &self.references;
        tensors.put("reference_copies", copies.clone());
        tensors.put("reference_codes", codes.clone());
        // As bits: a missing number is NaN, which an array of numbers may not hold.
        tensors.put("reference_numbers", numbers.iter().map(|number| number.to_bits()).collect::<Vec<u32>>());
        tensors.put("reference_scales", scales.clone());

        tensors.put("class_rows", self.classes.rows.clone());
        tensors.put("class_counts", self.classes.counts.clone());
        tensors.put("value_parts", self.walk.parts.clone());

        let Tails { of_cells, of_rows } = &self.tails;
        tensors.put("tails", of_cells.iter().map(|tail| tail.at.len() as u32).collect());
        tensors.put("tail_at", of_cells.iter().flat_map(|tail| tail.at.iter().copied()).collect::<Vec<f64>>());
        tensors.put("tail_nats", of_cells.iter().flat_map(|tail| tail.nats.iter().copied()).collect::<Vec<f64>>());
        tensors.put("tail_tops", of_cells.iter().flat_map(|tail| tail.top).collect::<Vec<f64>>());
        let rows = || of_rows.iter();
        tensors.put("row_tails", rows().map(|tail| tail.at.len() as u32).collect());
        tensors.put("row_tail_at", rows().flat_map(|tail| tail.at.iter().copied()).collect::<Vec<f64>>());
        tensors.put("row_tail_nats", rows().flat_map(|tail| tail.nats.iter().copied()).collect::<Vec<f64>>());
        tensors.put("row_tail_tops", rows().flat_map(|tail| [tail.top.from, tail.top.step]).collect::<Vec<f64>>());
        let Limits { counted, calibrated, references } = self.limits;
        Ok(StoredCells { limits: [counted, calibrated, references] })
    }

    fn read(document: StoredCells, layout: &Layout, tensors: &mut Tensors) -> Loaded<Self> {
        let [counted, calibrated, references] = document.limits;
        let limits = Limits { counted, calibrated, references };
        if (0..layout.n_groups()).any(|group| layout.size(group) > MOST_SLOTS) {
            return Err(format!("a group has more than {MOST_SLOTS} categories").into());
        }
        let columns = load_columns(layout, tensors)?;
        let presences: Vec<Option<Column>> = columns.iter().map(Column::presence).collect();
        let mut targets = load_targets(&columns, presences.iter().flatten(), tensors)?;
        let mut of_absences = targets.split_off(columns.len()).into_iter();
        let mut absence = |column: Column| Some(Absence { target: of_absences.next()?, column });
        let absences = presences.into_iter().map(|column| column.and_then(&mut absence)).collect();
        let references = load_references(layout, &columns, tensors)?;
        let classes = load_classes(&columns, tensors)?;
        let walk = load_walk(&columns, tensors)?;
        let categories = share_of_categories(&columns);
        let by_values = share_of_values(&columns, categories);
        let tails = Tails { of_cells: load_tails(layout, tensors)?, of_rows: load_row_tails(tensors)? };
        let layout = layout.clone();
        Ok(Self {
            layout,
            limits,
            columns,
            targets,
            absences,
            references,
            classes,
            walk,
            categories,
            by_values,
            tails,
            without: Without::default(),
            balance: std::sync::OnceLock::new(),
        })
    }
}

fn load_columns(layout: &Layout, tensors: &mut Tensors) -> Loaded<Vec<Column>> {
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
            ends: fixed(&all_ends[4 * number..]),
        };
        let counts = bin_counts[bins[number].clone()].to_vec();
        let ordered = of_number.edges.is_sorted() && of_number.knots.iter().all(|knots| knots.is_sorted());
        let positive = [deviation, scale, step, below, above].iter().all(|value| *value > 0.0);
        if !ordered || !positive || !of_number.ends.is_sorted() || counts.contains(&0) {
            return Err(format!("the bins of number {number} are not usable").into());
        }
        columns.push(Column::number(Some(of_number), counts));
    }
    for (group, n_missing) in missing.into_iter().enumerate() {
        let places = layout.group(group);
        let mut counts = category_counts[places.start - n_numbers..places.end - n_numbers].to_vec();
        let place = layout.missing(group).and_then(|code| counts.get_mut(code as usize));
        match place {
            Some(place) => *place = place.saturating_add(n_missing),
            None if n_missing > 0 => return Err(format!("group {group} cannot be missing").into()),
            None => {}
        }
        columns.push(Column::group(layout, group, counts));
    }
    Ok(columns)
}

/// The targets of all columns, and of the choices whether columns miss their values.
fn load_targets<'a>(
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
    if !priors.iter().all(|a| (1e-6..=1e9).contains(a)) || !weights.iter().all(|weight| (0.0..=2.0).contains(weight)) {
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
                lifts: Vec::new(),
            };
            link.finish(column);
            target.links.push(link);
        }
        targets.push(target);
    }
    Ok(targets)
}

fn load_references(layout: &Layout, columns: &[Column], tensors: &mut Tensors) -> Loaded<References> {
    let copies: Vec<u32> = tensors.take_any("reference_copies")?;
    let n_rows = copies.len();
    if n_rows > MOST_REFERENCES || copies.contains(&0) {
        return Err("tensor `reference_copies` holds what is not a number of rows".into());
    }
    let codes = tensors.take("reference_codes", n_rows * layout.n_groups())?;
    let bits: Vec<u32> = tensors.take("reference_numbers", n_rows * layout.n_numbers())?;
    let numbers: Vec<f32> = bits.into_iter().map(f32::from_bits).collect();
    let scales: Vec<f32> = tensors.take("reference_scales", n_rows)?;
    if scales.iter().any(|scale| *scale < 0.0) {
        return Err("tensor `reference_scales` holds what is not a squared distance".into());
    }
    Ok(References::new(layout, columns, codes, numbers, copies, scales))
}

fn load_classes(columns: &[Column], tensors: &mut Tensors) -> Loaded<Classes> {
    let rows: Vec<f32> = tensors.take_any("class_rows")?;
    if rows.len() > MOST_CLASSES || rows.is_empty() != (share_of_categories(columns) == 0.0) {
        return Err(format!("{} classes are not what these columns have", rows.len()).into());
    }
    let counts: Vec<f32> = tensors.take("class_counts", Classes::n_places(columns) * rows.len())?;
    let is_count = |rows: &f32| (0.0..=1e9).contains(rows);
    if !rows.iter().chain(&counts).all(is_count) {
        return Err("the classes hold what is not a number of rows".into());
    }
    Ok(Classes::restored(columns, rows, counts))
}

fn load_walk(columns: &[Column], tensors: &mut Tensors) -> Loaded<Walk> {
    let parts: Vec<f64> = tensors.take("value_parts", Walk::n_parts(columns))?;
    if !parts.iter().all(|part| (0.0..=1e9).contains(part)) {
        return Err("tensor `value_parts` holds what does not tell how odd a value is".into());
    }
    Ok(Walk::restored(columns, parts))
}

fn load_tails(layout: &Layout, tensors: &mut Tensors) -> Loaded<Vec<Tail>> {
    let n_tails = layout.n_cells() * KINDS;
    let lengths: Vec<u32> = tensors.take("tails", n_tails)?;
    let knots = pieces(lengths.iter().map(|length| *length as usize));
    let at: Vec<f64> = tensors.take("tail_at", end(&knots))?;
    let nats: Vec<f64> = tensors.take("tail_nats", end(&knots))?;
    let tops: Vec<f64> = tensors.take("tail_tops", TOP * n_tails)?;
    let tail = |(index, knots): (usize, Range<usize>)| {
        let tail = Tail::new(at[knots.clone()].to_vec(), nats[knots].to_vec(), fixed(&tops[TOP * index..]));
        if tail.is_usable() { Ok(tail) } else { Err("the curve of a tail is not usable".into()) }
    };
    knots.into_iter().enumerate().map(tail).collect()
}

fn load_row_tails(tensors: &mut Tensors) -> Loaded<[RowTail; FIGURES]> {
    let lengths: Vec<u32> = tensors.take("row_tails", FIGURES)?;
    let knots = pieces(lengths.iter().map(|length| *length as usize));
    let at: Vec<f64> = tensors.take("row_tail_at", end(&knots))?;
    let nats: Vec<f64> = tensors.take("row_tail_nats", end(&knots))?;
    let tops: Vec<f64> = tensors.take("row_tail_tops", 2 * FIGURES)?;
    let tail = |which: usize| {
        let (knots, [from, step]) = (knots[which].clone(), fixed(&tops[2 * which..]));
        RowTail { at: at[knots.clone()].to_vec(), nats: nats[knots].to_vec(), top: BulkTail { from, step } }
    };
    let tails = std::array::from_fn(tail);
    if tails.iter().all(RowTail::is_usable) { Ok(tails) } else { Err("the curve of the rows is not usable".into()) }
}

/// Pieces of these lengths, one behind the other.
fn pieces(lengths: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let mut end = 0usize;
    let piece = |length: usize| {
        let start = end;
        end = end.saturating_add(length);
        start..end
    };
    lengths.map(piece).collect()
}

/// Where the last piece ends.
fn end(pieces: &[Range<usize>]) -> usize {
    pieces.last().map_or(0, |piece| piece.end)
}

/// The first N of some numbers, of which there are enough.
fn fixed<const N: usize, T: Copy + Default>(values: &[T]) -> [T; N] {
    let mut array = [T::default(); N];
    array.iter_mut().zip(values).for_each(|(to, from)| *to = *from);
    array
}
