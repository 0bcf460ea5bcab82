//! Medical claims: patients with an age, a home and an insurer, in departments with diagnoses, procedures and stays
//! of their own.

use super::draw::Draw;
use super::edits::{
    decimal_shift, duplicate, empty, extra_digit, mismatch, misspell, swap, trailing_blank, write, wrong_case,
};
use super::plain::Plain;
use super::plant::{Plan, Site, plan};
use super::written::{DateStyle, day};

const ROWS: usize = 3000;
const PATIENTS: usize = 1900;
const DATES: DateStyle = DateStyle::Iso;

/// A department.
struct Department {
    name: &'static str,
    /// Diagnoses with weights; the last of each is rare.
    diagnoses: &'static [(&'static str, f64)],
    procedures: &'static [&'static str],
    /// What a stay costs without its nights.
    charge: f64,
    /// Nights of a stay, at the most.
    nights: i64,
}

const DEPARTMENTS: [Department; 8] = [
    Department {
        name: "Cardiology",
        diagnoses: &[("I21.4", 0.3), ("I25.1", 0.35), ("I48.0", 0.2), ("I50.1", 0.13), ("I33.0", 0.02)],
        procedures: &["93306", "92928", "93000"],
        charge: 9200.0,
        nights: 8,
    },
    Department {
        name: "Orthopedics",
        diagnoses: &[("M17.1", 0.4), ("S72.0", 0.3), ("M54.5", 0.15), ("S82.2", 0.14), ("M86.1", 0.01)],
        procedures: &["27447", "27130", "29881"],
        charge: 14_500.0,
        nights: 6,
    },
    Department {
        name: "Obstetrics",
        diagnoses: &[("O80.0", 0.6), ("O34.2", 0.25), ("O42.0", 0.14), ("O15.0", 0.01)],
        procedures: &["59400", "59510"],
        charge: 6100.0,
        nights: 4,
    },
    Department {
        name: "Pediatrics",
        diagnoses: &[("J21.0", 0.4), ("J45.9", 0.3), ("A08.4", 0.28), ("G71.0", 0.02)],
        procedures: &["94640", "90460"],
        charge: 2400.0,
        nights: 4,
    },
    Department {
        name: "Oncology",
        diagnoses: &[("C50.9", 0.35), ("C34.1", 0.3), ("C18.9", 0.33), ("C69.3", 0.02)],
        procedures: &["96413", "77427", "38221"],
        charge: 18_800.0,
        nights: 9,
    },
    Department {
        name: "Neurology",
        diagnoses: &[("G40.9", 0.35), ("I63.9", 0.4), ("G35.0", 0.23), ("G12.2", 0.02)],
        procedures: &["95816", "70551"],
        charge: 7800.0,
        nights: 9,
    },
    Department {
        name: "Emergency",
        diagnoses: &[("S01.0", 0.3), ("R07.4", 0.3), ("T14.9", 0.25), ("R55.0", 0.14), ("T63.0", 0.01)],
        procedures: &["99284", "12001", "99283"],
        charge: 1300.0,
        nights: 1,
    },
    Department {
        name: "Gastroenterology",
        diagnoses: &[("K35.8", 0.35), ("K80.2", 0.35), ("K57.3", 0.28), ("K85.9", 0.02)],
        procedures: &["45378", "43239", "47562"],
        charge: 5600.0,
        nights: 5,
    },
];
const OBSTETRICS: usize = 2;
const PEDIATRICS: usize = 3;

/// Cities with their state and the beginning of their zips.
const CITIES: [(&str, &str, &str); 18] = [
    ("Boston", "MA", "021"),
    ("Worcester", "MA", "016"),
    ("Hartford", "CT", "061"),
    ("Providence", "RI", "029"),
    ("Albany", "NY", "122"),
    ("Buffalo", "NY", "142"),
    ("Newark", "NJ", "071"),
    ("Trenton", "NJ", "086"),
    ("Philadelphia", "PA", "191"),
    ("Pittsburgh", "PA", "152"),
    ("Baltimore", "MD", "212"),
    ("Richmond", "VA", "232"),
    ("Norfolk", "VA", "235"),
    ("Charlotte", "NC", "282"),
    ("Raleigh", "NC", "276"),
    ("Atlanta", "GA", "303"),
    ("Cleveland", "OH", "441"),
    ("Columbus", "OH", "432"),
];
const INSURERS: [(&str, f64); 6] = [
    ("Medicare", 0.3),
    ("Medicaid", 0.18),
    ("BlueShield", 0.25),
    ("UnityHealth", 0.17),
    ("Aegis Mutual", 0.09),
    ("Self-pay", 0.01),
];

struct Patient {
    birth: i64,
    sex: &'static str,
    city: usize,
    zip: String,
    insurer: &'static str,
}

/// The table.
pub fn table(draw: &mut Draw) -> Plain {
    let header = [
        "claim_id",
        "patient_id",
        "birth_date",
        "sex",
        "admitted",
        "discharged",
        "department",
        "diagnosis",
        "procedure",
        "charge",
        "insurer",
        "city",
        "state",
        "zip",
    ];
    let mut table = Plain::new(&header, ',');
    let patients: Vec<Patient> = (0..PATIENTS).map(|_| patient(draw)).collect();
    let mut admissions: Vec<i64> = (0..ROWS).map(|_| day(2023, 7, 1) + draw.between(0, 360)).collect();
    admissions.sort_unstable();
    let mut claim = 7_200_113;
    for admitted in admissions {
        claim += draw.between(1, 9);
        let place = draw.below(PATIENTS);
        let patient = &patients[place];
        let department = &DEPARTMENTS[department_of(patient, admitted, draw)];
        let nights = (draw.around(0.4, 0.5) * department.nights as f64).round().min(department.nights as f64);
        let charge = department.charge * (1.0 + 0.3 * nights) * draw.around(1.0, 0.3);
        let (city, state, _) = CITIES[patient.city];
        table.rows.push(vec![
            claim.to_string(),
            format!("P{:05}", 10_000 + place * 17 % 89_999),
            DATES.write(patient.birth),
            if draw.chance(0.01) { String::new() } else { patient.sex.into() },
            DATES.write(admitted),
            DATES.write(admitted + nights as i64),
            department.name.into(),
            draw.weighted(department.diagnoses).into(),
            draw.pick(department.procedures).into(),
            format!("{charge:.2}"),
            patient.insurer.into(),
            city.into(),
            state.into(),
            patient.zip.clone(),
        ]);
    }
    table
}

fn patient(draw: &mut Draw) -> Patient {
    let age = if draw.chance(0.13) { draw.unit() * 16.0 } else { (52.0 + 19.0 * draw.normal()).clamp(18.0, 97.0) };
    let weights: Vec<(usize, f64)> = (0..CITIES.len()).map(|city| (city, 1.0 / (city as f64 + 4.0))).collect();
    let city = draw.weighted(&weights);
    let insurer = if age > 65.0 && draw.chance(0.8) { INSURERS[0].0 } else { draw.weighted(&INSURERS[1..]) };
    Patient {
        birth: day(2023, 6, 1) - (age * 365.25) as i64,
        sex: draw.pick(&["F", "M"]),
        city,
        zip: format!("{}{:02}", CITIES[city].2, 1 + draw.often_first(14)),
        insurer,
    }
}

/// A department that has such patients.
fn department_of(patient: &Patient, admitted: i64, draw: &mut Draw) -> usize {
    let age = (admitted - patient.birth) / 365;
    if age < 17 {
        return draw.weighted(&[(PEDIATRICS, 0.75), (6, 0.25)]);
    }
    let obstetrics = if patient.sex == "F" && (19..=42).contains(&age) { 2.0 } else { 0.0 };
    draw.weighted(&[(0, 0.9), (1, 0.8), (OBSTETRICS, obstetrics), (4, 0.5), (5, 0.6), (6, 0.9), (7, 0.7)])
}

/// What is planted.
pub fn plans() -> Vec<Plan> {
    vec![
        plan("misspelt-category", |site| misspell(site, &["department", "city", "insurer"])),
        plan("unseen-category", |site| write(site, &["insurer"], &["Pet Plan", "Lloyd Marine"])),
        plan("wrong-case", |site| wrong_case(site, &["department", "state", "sex"])),
        plan("trailing-blank", |site| trailing_blank(site, &["department", "state"])),
        plan("stray-word", |site| write(site, &["charge"], &["unknown", "pending", "see file"])),
        plan("missing-cell", |site| empty(site, &["department", "charge", "birth_date", "zip"])),
        plan("extra-digit", |site| charge(site, extra_digit)),
        plan("sign-flipped", |site| charge(site, |_, value| -value)),
        plan("odd-for-category", |site| {
            (site.get("department")? == "Emergency").then_some(())?;
            charge(site, |site, _| site.draw.around(48_000.0, 0.1))?;
            site.beside("department")
        }),
        plan("absurd-number", |site| write(site, &["charge"], &["999999999", "1e300"])),
        plan("decimal-shift", |site| charge(site, decimal_shift)),
        plan("out-of-range-age", |site| {
            let admitted = DATES.read(site.get("admitted")?)?;
            let text = DATES.write(admitted - 365 * site.draw.between(128, 136));
            site.set("birth_date", text)?;
            site.beside("admitted")
        }),
        plan("city-mismatch", |site| {
            mismatch(site, "city", "state")?;
            site.beside("zip")
        }),
        plan("swapped-columns", |site| swap(site, "diagnosis", "procedure")),
        plan("department-mismatch", |site| mismatch(site, "procedure", "department")),
        plan("impossible-pair", |site| {
            (site.get("department")? == DEPARTMENTS[OBSTETRICS].name).then_some(())?;
            site.set("sex", "M")?;
            site.beside("department")
        }),
        plan("date-before", |site| {
            let text = DATES.write(DATES.read(site.get("admitted")?)? - site.draw.between(20, 1100));
            site.set("discharged", text)?;
            site.beside("admitted")
        }),
        plan("date-before", |site| {
            let text = DATES.write(DATES.read(site.get("admitted")?)? + site.draw.between(30, 400));
            site.set("birth_date", text)?;
            site.beside("admitted")
        }),
        plan("date-far-past", |site| year(site, &["birth_date", "admitted"], 1823)),
        plan("date-far-future", |site| year(site, &["admitted", "discharged"], 2034)),
        plan("wrong-date-order", |site| {
            let column = site.draw.pick(&["birth_date", "admitted"]);
            let text = DATES.in_wrong_order(DATES.read(site.get(column)?)?)?;
            site.set(column, text)
        }),
        plan("long-stay", |site| {
            let text = DATES.write(DATES.read(site.get("admitted")?)? + site.draw.between(380, 900));
            site.set("discharged", text)?;
            site.beside("admitted")
        }),
        plan("duplicate-identifier", |site| duplicate(site, "claim_id")),
        plan("wrong-shape-identifier", |site| {
            let text = site.get("patient_id")?.replace('P', site.draw.pick(&["", "PAT-", "P/"]));
            site.set("patient_id", text)
        }),
        plan("letters-in-zip", |site| write(site, &["zip"], &["ABCDE", "O2I15", "n.n."])),
        plan("wrong-shape-code", |site| {
            let code = site.get("diagnosis")?;
            let text = if site.draw.chance(0.5) { code.replace('.', ",") } else { code.replace('.', "") };
            site.set("diagnosis", text)
        }),
        plan("free-text-in-code", |site| {
            write(site, &["diagnosis", "procedure"], &["chest pain, see letter", "as discussed with Dr. Hall"])
        }),
    ]
}

fn charge(site: &mut Site<'_>, change: impl Fn(&mut Site<'_>, f64) -> f64) -> Option<()> {
    let value = site.number("charge")?;
    let changed = change(site, value);
    site.set("charge", format!("{changed:.2}"))
}

fn year(site: &mut Site<'_>, columns: &[&str], year: i64) -> Option<()> {
    let column = site.draw.pick(columns);
    let date = day(year, site.draw.between(1, 12), site.draw.between(1, 28));
    site.set(column, DATES.write(date))
}
