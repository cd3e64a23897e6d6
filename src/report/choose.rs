//! Which strategy to take, and why.

use std::fmt::Write as _;

use super::terminal::{nanoseconds, plain_table, ratio};
use crate::choose::{Candidate, Choice, PARTS, STRATEGIES};
use crate::gate::number;

/// The strategy to take, what the others would cost, and the model behind it.
#[must_use]
pub fn choice(choice: &Choice) -> String {
    let Choice { candidates, best, next, lead, errors, crossings } = choice;
    let name = |index: &usize| STRATEGIES[*index].name();
    let [value, interval] = ratio(*lead);
    let mut text = if lead.may_be_one() {
        let mut equal: Vec<usize> =
            (0..candidates.len()).filter(|&index| candidates[index].ratio.may_be_one()).collect();
        equal.retain(|index| ![best, next].contains(&index));
        equal.sort_by(|&a, &b| candidates[a].measured.total_cmp(&candidates[b].measured));
        let names: Vec<_> = [best, next].into_iter().chain(&equal).map(name).collect();
        format!("take {}: no difference was seen (95 %: {interval})\n", names.join(" or "))
    } else {
        format!(
            "take {}: {} takes {value} times as long (95 %: {interval})\n",
            name(best),
            name(next)
        )
    };
    let predicted = |index: &usize| candidates[*index].predicted;
    let by_model = (0..candidates.len()).min_by(|a, b| predicted(a).total_cmp(&predicted(b)));
    if let Some(model) = by_model.filter(|model| model != best) {
        let _ = writeln!(
            text,
            "the model would take {}, {:.2} times as fast by its prediction",
            name(&model),
            predicted(best) / predicted(&model)
        );
    }
    let header = ["strategy", "measured", "x best", "95 %", "predicted", "faults"];
    let mut table = plain_table(&header, 1);
    for (strategy, Candidate { predicted, measured, ratio: times, faults, .. }) in
        STRATEGIES.iter().zip(candidates)
    {
        let [value, interval] = ratio(*times);
        table.add_row([
            strategy.name().to_owned(),
            nanoseconds(*measured),
            value,
            interval,
            nanoseconds(*predicted),
            number(faults.round() as u64),
        ]);
    }
    let _ = writeln!(text, "\n{}\n", table.trim_fmt());
    let percent = |error: Option<&f64>| error.map_or(0.0, |error| error * 100.0);
    let _ = writeln!(
        text,
        "The model: what a part costs in ns, fitted to shapes that were timed in turns. For shapes that a fit has not seen, its \
         prediction is {:.0} % off (median; worst {:.0} %).",
        percent(errors.get(errors.len() / 2)),
        percent(errors.last())
    );
    let header: [&str; PARTS.len() + 1] =
        std::array::from_fn(|column| if column == 0 { "strategy" } else { PARTS[column - 1] });
    let mut table = plain_table(&header, 1);
    for (strategy, candidate) in STRATEGIES.iter().zip(candidates) {
        let costs = candidate.model.costs.iter().map(|cost| format!("{cost:.3}"));
        table.add_row(std::iter::once(strategy.name().to_owned()).chain(costs));
    }
    let _ = writeln!(text, "{}\n", table.trim_fmt());
    let from = |(size, strategy): &(usize, crate::cases::Strategy)| {
        format!("from {} bytes {}", number(*size as u64), strategy.name())
    };
    let crossings: Vec<_> = crossings.iter().map(from).collect();
    let _ = writeln!(text, "One account, by the model: {}.", crossings.join(", "));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::Strategy;
    use crate::choose::Model;
    use crate::paired::Ratio;

    fn choice_of(measured: [f64; 7], lead: Ratio) -> Choice {
        let candidate = |measured: f64| Candidate {
            model: Model { costs: [1.0; PARTS.len()] },
            predicted: 1000.0 - measured,
            measured,
            ratio: Ratio { value: measured / 100.0, low: measured / 100.0, high: measured / 100.0 },
            faults: 0.0,
        };
        Choice {
            candidates: measured.map(candidate).to_vec(),
            best: 6,
            next: 4,
            lead,
            errors: vec![0.01, 0.05, 0.5],
            crossings: vec![(0, Strategy::Pooled), (4096, Strategy::AlignedMemory)],
        }
    }

    #[test]
    fn choice_names_the_best_by_how_much_and_how_sure() {
        let measured = [500.0, 600.0, 300.0, 400.0, 200.0, 700.0, 100.0];
        let text = choice(&choice_of(measured, Ratio { value: 2.0, low: 1.9, high: 2.1 }));
        let first = "take pooled: aligned_memory takes 2.000 times as long (95 %: 1.900-2.100)";
        assert_eq!(text.lines().next(), Some(first));
        assert!(
            text.contains("the model would take growing, 3.00 times as fast by its prediction"),
            "{text}"
        );
        assert!(text.contains("is 5 % off (median; worst 50 %)"), "{text}");
        assert!(
            text.ends_with("from 0 bytes pooled, from 4,096 bytes aligned_memory.\n"),
            "{text}"
        );
        let text = choice(&choice_of(measured, Ratio { value: 1.01, low: 0.99, high: 1.02 }));
        let first = "take pooled or aligned_memory: no difference was seen (95 %: 0.990-1.020)";
        assert_eq!(text.lines().next(), Some(first));
        let mut three = choice_of(measured, Ratio { value: 1.01, low: 0.99, high: 1.02 });
        three.candidates[2].ratio.low = 0.98;
        let first =
            "take pooled or aligned_memory or uninit: no difference was seen (95 %: 0.990-1.020)";
        assert_eq!(choice(&three).lines().next(), Some(first));
    }
}
