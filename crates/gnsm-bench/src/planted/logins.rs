//! An authentication log: users with hours, countries and devices of their own, and machines that work at night.

use super::draw::Draw;
use super::edits::{duplicate, empty, mismatch, misspell, swap, trailing_blank, write, wrong_case};
use super::plain::Plain;
use super::plant::{Plan, Site, plan};
use super::written::{DateStyle, day};

const ROWS: usize = 20_000;
const USERS: usize = 140;
/// The last users are machines.
const MACHINES: usize = 8;
const DAYS: i64 = 90;
const DATES: DateStyle = DateStyle::Iso;

const COUNTRIES: [(&str, f64); 7] = [
    ("Germany", 0.4),
    ("France", 0.17),
    ("Poland", 0.14),
    ("Spain", 0.12),
    ("Netherlands", 0.1),
    ("Italy", 0.06),
    ("Norway", 0.01),
];
const DEVICES: [(&str, f64); 4] = [("laptop", 0.6), ("desktop", 0.25), ("phone", 0.12), ("tablet", 0.03)];

/// Applications: the devices that cannot use it, its usual bytes and seconds, its weight.
struct Application {
    name: &'static str,
    never: &'static [&'static str],
    bytes: f64,
    seconds: f64,
    weight: f64,
}

const APPLICATIONS: [Application; 6] = [
    Application { name: "mail", never: &[], bytes: 42_000.0, seconds: 900.0, weight: 0.4 },
    Application { name: "wiki", never: &[], bytes: 160_000.0, seconds: 400.0, weight: 0.2 },
    Application { name: "crm", never: &["tablet"], bytes: 310_000.0, seconds: 1500.0, weight: 0.18 },
    Application { name: "payroll", never: &["phone", "tablet"], bytes: 85_000.0, seconds: 250.0, weight: 0.07 },
    Application { name: "ssh", never: &["phone", "tablet"], bytes: 24_000.0, seconds: 2400.0, weight: 0.15 },
    Application { name: "backup", never: &[], bytes: 60_000_000.0, seconds: 3100.0, weight: 0.0 },
];
const BACKUP: usize = 5;
const HEADER: [&str; 10] =
    ["time", "session", "user", "country", "device", "application", "method", "success", "bytes", "seconds"];

struct User {
    name: String,
    /// The hour around which they work.
    hour: f64,
    home: &'static str,
    /// Where they travel to, if they do.
    travels: Option<&'static str>,
    devices: [&'static str; 2],
    machine: bool,
}

/// The table.
pub fn table(draw: &mut Draw) -> Plain {
    let mut table = Plain::new(&HEADER, ',');
    let users: Vec<User> = (0..USERS).map(|place| user(place, draw)).collect();
    let mut logins: Vec<(i64, usize)> = (0..ROWS).map(|_| login(&users, draw)).collect();
    logins.sort_unstable();
    for (second, place) in logins {
        let user = &users[place];
        let country = if draw.chance(0.06) { user.travels.unwrap_or(user.home) } else { user.home };
        let device = if draw.chance(0.85) { user.devices[0] } else { user.devices[1] };
        let application = if user.machine { &APPLICATIONS[BACKUP] } else { application(device, draw) };
        let success = draw.chance(0.96);
        let (bytes, seconds) = if success {
            (draw.around(application.bytes, 0.6), draw.around(application.seconds, 0.6))
        } else {
            (draw.around(900.0, 0.2), draw.around(3.0, 0.4).max(1.0))
        };
        let method = if user.machine { "key" } else { draw.weighted(&[("sso", 0.7), ("password", 0.3)]) };
        table.rows.push(vec![
            stamp(second),
            format!("{:08x}", (draw.unit() * f64::from(u32::MAX)) as u32),
            user.name.clone(),
            country.into(),
            device.into(),
            application.name.into(),
            if application.name == "ssh" { "key".into() } else { method.into() },
            if success { "yes".into() } else { "no".into() },
            format!("{bytes:.0}"),
            format!("{seconds:.0}"),
        ]);
    }
    table
}

fn stamp(second: i64) -> String {
    let (date, second) = (second.div_euclid(86_400), second.rem_euclid(86_400));
    format!("{} {:02}:{:02}:{:02}", DATES.write(date), second / 3600, second / 60 % 60, second % 60)
}

fn user(place: usize, draw: &mut Draw) -> User {
    const FIRST: [&str; 12] =
        ["anna", "ben", "carla", "david", "elena", "felix", "greta", "hugo", "irene", "jonas", "karin", "lukas"];
    const LAST: [&str; 11] =
        ["adler", "bauer", "costa", "dubois", "ebert", "franke", "gomez", "horn", "ilic", "jung", "kowal"];
    if place >= USERS - MACHINES {
        let home = COUNTRIES[0].0;
        let name = format!("svc-backup-{:02}", place + MACHINES - USERS + 1);
        return User { name, hour: 2.5, home, travels: None, devices: ["server"; 2], machine: true };
    }
    let main = draw.weighted(&DEVICES);
    User {
        name: format!("{}.{}", FIRST[place % 12], LAST[place / 12]),
        // Most work by day, some in the evening.
        hour: if draw.chance(0.85) { 11.5 + draw.normal() * 0.7 } else { 18.5 + draw.normal() * 0.5 },
        home: draw.weighted(&COUNTRIES),
        travels: draw.chance(0.2).then(|| draw.weighted(&COUNTRIES)),
        devices: [main, draw.weighted(&DEVICES)],
        machine: false,
    }
}

/// A user and when, in seconds since 1970: people on weekdays at their hours, and now and then on a weekend; machines
/// every night.
fn login(users: &[User], draw: &mut Draw) -> (i64, usize) {
    let place = draw.below(users.len());
    let user = &users[place];
    let mut date = day(2024, 2, 1) + draw.between(0, DAYS - 1);
    if !user.machine && !draw.chance(0.03) {
        date = super::written::working_day(date);
    }
    let spread = if user.machine { 0.4 } else { 1.8 };
    // Nobody is awake more than six hours before or after the middle of their day.
    let hour = user.hour + (spread * draw.normal()).clamp(-6.0, 6.0);
    (date * 86_400 + (hour.clamp(0.0, 23.9) * 3600.0) as i64, place)
}

fn application(device: &str, draw: &mut Draw) -> &'static Application {
    let able = APPLICATIONS.iter().enumerate().filter(|(_, application)| !application.never.contains(&device));
    let able: Vec<(usize, f64)> = able.map(|(place, application)| (place, application.weight)).collect();
    &APPLICATIONS[draw.weighted(&able)]
}

/// What is planted.
pub fn plans() -> Vec<Plan> {
    vec![
        plan("unusual-country", |site| {
            person(site)?;
            mismatch(site, "country", "user")
        }),
        plan("unusual-country", |site| {
            person(site)?;
            mismatch(site, "country", "user")
        }),
        plan("unusual-hour", night),
        plan("unusual-hour", night),
        plan("misspelt-category", |site| misspell(site, &["country", "application", "device"])),
        plan("misspelt-category", |site| misspell(site, &["user"])),
        plan("unseen-category", |site| write(site, &["country"], &["Brazil", "Vietnam", "Kenya"])),
        plan("wrong-case", |site| wrong_case(site, &["user", "country", "success"])),
        plan("trailing-blank", |site| trailing_blank(site, &["user", "device"])),
        plan("stray-word", |site| write(site, &["bytes", "seconds"], &["overflow", "timeout", "err"])),
        plan("missing-cell", |site| empty(site, &["user", "country", "bytes", "device"])),
        plan("sign-flipped", |site| {
            let column = site.draw.pick(&["bytes", "seconds"]);
            let text = format!("-{}", site.get(column)?);
            site.set(column, text)
        }),
        plan("absurd-number", |site| write(site, &["bytes", "seconds"], &["99999999999999", "1e300"])),
        plan("odd-for-category", |site| {
            (site.get("application")? == "mail" && site.get("success")? == "yes").then_some(())?;
            let bytes = site.draw.around(70_000_000.0, 0.2);
            site.set("bytes", format!("{bytes:.0}"))?;
            site.beside("application")
        }),
        plan("impossible-pair", |site| mismatch(site, "application", "device")),
        plan("swapped-columns", |site| swap(site, "device", "application")),
        plan("date-far-past", |site| in_year(site, 1970)),
        plan("date-far-future", |site| in_year(site, 2034)),
        plan("duplicate-identifier", |site| duplicate(site, "session")),
        plan("wrong-shape-identifier", |site| write(site, &["session"], &["none", "SESSION-1", "0x"])),
    ]
}

fn person(site: &Site<'_>) -> Option<()> {
    (!site.get("user")?.starts_with("svc-")).then_some(())
}

fn night(site: &mut Site<'_>) -> Option<()> {
    person(site)?;
    let date = site.get("time")?.split_once(' ')?.0;
    let hour = site.draw.between(1, 3);
    let rest = site.draw.between(0, 3599);
    site.set("time", format!("{date} {hour:02}:{:02}:{:02}", rest / 60, rest % 60))?;
    site.beside("user")
}

fn in_year(site: &mut Site<'_>, year: i64) -> Option<()> {
    let text = site.get("time")?;
    site.set("time", format!("{year}{}", &text[4..]))
}
