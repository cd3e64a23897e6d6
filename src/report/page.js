"use strict";
// Draws the charts and tables of the page from its JSON: those in view at once, the others when there is time.
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const ROW = { strategy: 0, shape: 1, size: 2, alignment: 3, heap: 4, source: 5, values: 6 };
const HEIGHT = 320, BAR = 24, MARKED = 40, LINES = 24, NAME = 16, DENSE = 40, ROWS = 250;
const PARTS = ["zeroing", "copying", "allocating", "code"];

const escaped = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const esc = (text) => String(text).replace(/[&<>"']/g, (c) => escaped[c]);
const brief = (text, most = NAME) => {
  const all = Array.from(text);
  return all.length > most ? all.slice(0, most - 1).join("") + "…" : text;
};

// Numbers.

const full = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 6 });
const number = (value) => {
  if (value === null || value === undefined) return "-";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en-US");
  return Math.abs(value) >= 1e15 || (value !== 0 && Math.abs(value) < 1e-3) ? value.toExponential(3) : full.format(value);
};
const digits = (value) => (value >= 1e4 ? value.toExponential(1) : String(Number(value.toPrecision(3))));
const scaled = (value, units, step) => {
  if (Math.abs(value) >= 1e16) return value.toExponential(0) + units[0];
  let unit = 0;
  while (unit + 1 < units.length && Math.abs(value) >= step) { value /= step; unit += 1; }
  return digits(value) + units[unit];
};
const bytes = (value) => scaled(value, [" B", " KiB", " MiB", " GiB", " TiB"], 1024);
const shortly = (value, unit) =>
  unit === "x" ? `${digits(value)} x` : unit === "ns" ? scaled(value, [" ns", " us", " ms", " s"], 1000) : scaled(value, ["", " k", " M", " G", " T"], 1000);
const exactly = (value, unit) => {
  if (unit === "ns") return value >= 1000 ? `${shortly(value, unit)} (${number(value)} ns)` : `${number(value)} ns`;
  return `${number(value)} ${unit === "faults" ? (value === 1 ? "page fault" : "page faults") : unit}`;
};

// What a row says.

const strategy = (row) => data.strategies[row[ROW.strategy]];
const shape = (row) => data.words[row[ROW.shape]];
const value = (row) => row[ROW.values][0];
const allocator = (row) => data.sources[row[ROW.source]][1];
const interval = (row, metric) => {
  if (!metric.interval) return null;
  const [low, high, of] = metric.interval.map((place) => row[ROW.values][place]);
  return low > 0 && high > 0 && of > 0 ? [value(row) * low / of, value(row) * high / of] : null;
};
const said = (row, metric) => {
  const values = row[ROW.values];
  let text = `${exactly(value(row), metric.unit)}`;
  const others = metric.columns.map((name, place) => `${name} ${number(values[place])}`).slice(1);
  if (others.length) text += `; ${others.join(", ")}`;
  const size = row[ROW.size] === null ? "" : `, ${number(row[ROW.size])} bytes`;
  return [
    `${strategy(row)}, ${shape(row)}${size}`,
    text,
    `allocator ${data.allocators[allocator(row)]}, ${data.heaps[row[ROW.heap]]} heap, alignment ${data.words[row[ROW.alignment]]}, run ${row[ROW.source] + 1}`,
  ];
};
const colour = (index) => `var(--c${index % 8})`;

// Marks: a shape a strategy, so that colour is not all that tells them apart.

const MARKS = [
  (x, y, r) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`,
  (x, y, r) => `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}Z`,
  (x, y, r) => `M${x} ${y - r * 1.2}L${x + r * 1.15} ${y + r}H${x - r * 1.15}Z`,
  (x, y, r) => `M${x} ${y - r * 1.35}L${x + r * 1.35} ${y}L${x} ${y + r * 1.35}L${x - r * 1.35} ${y}Z`,
  (x, y, r) => `M${x} ${y + r * 1.2}L${x + r * 1.15} ${y - r}H${x - r * 1.15}Z`,
  (x, y, r) => `M${x - r * 1.3} ${y - r / 2}h${r * 0.8}v${-r * 0.8}h${r}v${r * 0.8}h${r * 0.8}v${r}h${-r * 0.8}v${r * 0.8}h${-r}v${-r * 0.8}h${-r * 0.8}Z`,
  (x, y, r) => `M${x - r * 1.2} ${y}L${x + r} ${y - r * 1.15}V${y + r * 1.15}Z`,
  (x, y, r) => `M${x - r * 1.3} ${y - r * 0.7}h${2.6 * r}v${1.4 * r}h${-2.6 * r}Z`,
];
const round = (value) => Math.round(value * 10) / 10;
const mark = (index, x, y, r = 4) => MARKS[(index % 8 + Math.floor(index / 8) * 3) % 8](round(x), round(y), r);

// Axes.

const steps = (least, most, base, count) => {
  // Powers of the base; where those are too few, some between them; where they are too many, every so manyth.
  const from = Math.floor(Math.log(least) / Math.log(base) + 1e-9), to = Math.ceil(Math.log(most) / Math.log(base) - 1e-9);
  const between = base === 2 ? [[1], [1, 1.25, 1.5, 1.75]] : [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 8]];
  let ticks = [];
  for (const factors of between) {
    ticks = [];
    for (let power = from; power <= to && ticks.length < 1200; power += 1) {
      for (const factor of factors) {
        const tick = base ** power * factor;
        if (tick >= least * 0.999 && tick <= most * 1.001) ticks.push(tick);
      }
    }
    if (ticks.length >= 3) break;
  }
  if (ticks.length < 3) {
    const about = (most - least) / 5, power = 10 ** Math.floor(Math.log10(about)), by = [1, 2, 5, 10].find((factor) => factor * power >= about) * power;
    ticks = [];
    for (let tick = Math.ceil(least / by); tick * by <= most && ticks.length < 20; tick += 1) ticks.push(tick * by);
  }
  const every = Math.ceil(ticks.length / count);
  return ticks.filter((_, index) => index % every === 0);
};
const axis = (values, from, to) => {
  let least = Infinity, most = -Infinity;
  for (const value of values) { if (value > 0) { least = Math.min(least, value); most = Math.max(most, value); } }
  if (least === Infinity) { least = 1; most = 10; }
  if (most / least < 1.2) { least /= 1.2; most *= 1.2; }
  least = Math.max(least, Number.MIN_VALUE * 1e20); most = Math.min(most, 1e300);
  const low = Math.log(least), width = Math.log(most) - low;
  const place = (value) => from + (to - from) * (value > 0 ? Math.min(1, Math.max(0, (Math.log(value) - low) / width)) : 0);
  return { least, most, place };
};

// Curves.

// What the points of a size are multiples of: the floor, or the least where there is none.
const references = (rows) => {
  const floors = new Map(), least = new Map();
  for (const row of rows) {
    const size = row[ROW.size];
    if (!(value(row) > 0)) continue;
    if (row[ROW.strategy] === data.floor) floors.set(size, value(row));
    least.set(size, Math.min(least.get(size) ?? Infinity, value(row)));
  }
  return (row) => (floors.size ? floors : least).get(row[ROW.size]) ?? NaN;
};

const lines = (rows) => {
  // A line a strategy and source, by size.
  const groups = new Map();
  rows.forEach((row, index) => {
    const key = row[ROW.strategy] + "," + row[ROW.source];
    if (!groups.has(key)) groups.set(key, { strategy: row[ROW.strategy], points: [] });
    groups.get(key).points.push({ row, index });
  });
  for (const line of groups.values()) line.points.sort((a, b) => a.row[ROW.size] - b.row[ROW.size]);
  // The floor is drawn below the others.
  return [...groups.values()].sort((a, b) => (b.strategy === data.floor) - (a.strategy === data.floor) || a.strategy - b.strategy);
};

// Where one line falls below another: between sizes at which both differ, by more than their intervals where they have some.
const crossings = (all, metric) => {
  const real = all.filter((line) => line.strategy !== data.floor);
  const of = real.map((line) => new Map(line.points.filter(({ row }) => value(row) > 0 && row[ROW.size] > 0).map(({ row }) => [row[ROW.size], row])));
  const found = [];
  const sizes = of.map((rows) => [...rows.keys()]);
  // A line at a size that need not be one of its own; nothing outside them.
  const at = (line, size) => {
    let low = 0, high = sizes[line].length - 1;
    if (high < 0 || size < sizes[line][0] || size > sizes[line][high]) return Infinity;
    while (high - low > 1) { const middle = (low + high) >> 1; if (sizes[line][middle] <= size) low = middle; else high = middle; }
    const [from, to] = [sizes[line][low], sizes[line][high]], [before, after] = [from, to].map((size) => value(of[line].get(size)));
    return from === to ? before : before * (after / before) ** (Math.log(size / from) / Math.log(to / from));
  };
  for (let a = 0; a < real.length; a += 1) {
    for (let b = a + 1; b < real.length; b += 1) {
      const both = [...of[a].keys()].filter((size) => of[b].has(size)).map((size) => {
        const [first, second] = [of[a].get(size), of[b].get(size)];
        const [one, other] = [interval(first, metric), interval(second, metric)];
        const difference = Math.log(value(first) / value(second));
        return { size, difference, y: value(first), row: first, sure: !one || !other || one[0] > other[1] || other[0] > one[1] };
      });
      let last = -1;
      both.forEach((now, index) => {
        if (!now.sure || now.difference === 0) return;
        if (last >= 0 && Math.sign(both[last].difference) !== Math.sign(now.difference)) {
          let left = last;
          while (Math.sign(both[left + 1].difference) === Math.sign(both[last].difference)) left += 1;
          const [from, to] = [both[left], both[left + 1]];
          const share = from.difference / (from.difference - to.difference);
          const size = from.size * (to.size / from.size) ** share, y = from.y * (to.y / from.y) ** share;
          const [below, above] = now.difference < 0 ? [a, b] : [b, a];
          const lead = of.every((_, line) => line === a || line === b || at(line, size) >= y * (1 - 1e-9));
          found.push({ size, y, share, from: from.row, to: to.row, lead, below: real[below].strategy, above: real[above].strategy });
        }
        last = index;
      });
    }
  }
  return found.sort((a, b) => b.lead - a.lead || a.size - b.size);
};

const text = (x, y, words, anchor, kind = "") => `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}"${kind && ` class="${kind}"`}>${esc(words)}</text>`;

const curve = (chart, rows, width) => {
  const { metric } = chart, left = 62, right = width - 14, top = 22, bottom = HEIGHT - 40;
  const reference = state.values === 1 ? references(rows) : () => 1, unit = state.values === 1 ? "x" : metric.unit;
  const level = (row) => value(row) / reference(row) || 0;
  const bounds = rows.map((row) => { const of = interval(row, metric); return of && of.map((end) => end / reference(row) || 0); });
  const x = axis(rows.map((row) => row[ROW.size]), left, right);
  const y = axis(rows.map(level).concat(bounds.flat().filter((end) => end !== null)), bottom, top);
  let svg = "";
  for (const tick of steps(y.least, y.most, 10, 7)) {
    const at = round(y.place(tick));
    svg += `<path class="grid-line" d="M${left} ${at}H${right}"/>${text(left - 6, at + 4, shortly(tick, unit), "end")}`;
  }
  for (const tick of steps(x.least, x.most, 2, Math.max(2, Math.floor((right - left) / 80)))) {
    const at = round(x.place(tick));
    svg += `<path class="grid-line" d="M${at} ${top}V${bottom}"/>${text(at, bottom + 16, bytes(tick), "middle")}`;
  }
  svg += `<path class="axis" fill="none" d="M${left} ${top}V${bottom}H${right}"/>`;
  const of = metric.unit === "ns" ? "time of a call" : `${metric.unit} of a call`;
  const multiple = rows.some((row) => row[ROW.strategy] === data.floor) ? "multiples of the floor" : "multiples of the least";
  svg += text(left, 12, state.values === 1 ? `${of}, ${multiple}` : of, "start") + text(right, HEIGHT - 6, "bytes of the finished buffer", "end");
  const all = lines(rows);
  const places = new Array(rows.length);
  const seen = new Map(); // who has a colour first; others dot their lines
  let marks = "", ends = "";
  for (const line of all) {
    const first = seen.get(colour(line.strategy)) ?? line.strategy, fill = colour(line.strategy);
    seen.set(fill, first);
    const dense = line.points.length > DENSE;
    const path = line.points.map(({ row, index }) => {
      const at = { x: x.place(row[ROW.size]), y: y.place(level(row)), index, line };
      places[index] = at;
      if (bounds[index]) ends += `M${round(at.x)} ${round(y.place(bounds[index][0]))}V${round(y.place(bounds[index][1]))}`;
      const off = !(level(row) > 0 && row[ROW.size] > 0);
      marks += dense
        ? `<circle class="point dense" fill="${fill}" cx="${round(at.x)}" cy="${round(at.y)}" r="2"/>`
        : `<path class="point${off ? " off" : ""}" fill="${fill}" d="${mark(line.strategy, at.x, at.y, 3.6)}"/>`;
      return `${round(at.x)} ${round(at.y)}`;
    });
    svg += `<path class="curve${line.strategy === data.floor ? " floor" : first === line.strategy ? "" : " again"}" stroke="${fill}" d="M${path.join("L")}"/>`;
    if (ends) svg += `<path class="interval" stroke="${fill}" d="${ends}"/>`;
    ends = "";
  }
  const tooMany = all.length > LINES;
  const crossed = tooMany ? [] : (chart.crossed[`${state.allocator} ${state.heap}`] ??= crossings(all, metric));
  // Those of the least first; of many only where there is room for the mark.
  const room = crossed.length > 12 ? 12 : 0;
  let crosses = "";
  const marked = [];
  for (const cross of crossed) {
    if (marked.length === MARKED) break;
    const place = { x: x.place(cross.size), y: y.place(level(cross.from) ** (1 - cross.share) * level(cross.to) ** cross.share || 0) };
    if (marked.some((other) => Math.hypot(other.x - place.x, other.y - place.y) < room)) continue;
    marked.push(place);
    crosses += `<path class="crossing${cross.lead ? " lead" : ""}" d="${MARKS[3](round(place.x), round(place.y), cross.lead ? 7 : 5.5)}"/>`;
  }
  chart.order = all.flatMap((line) => line.points.map(({ index }) => index));
  return { svg: svg + marks + crosses, height: HEIGHT, places, crossed, marked: marked.length, tooMany };
};

// Bars.

const bars = (chart, rows, width) => {
  const { metric } = chart, stacked = metric.parts.length > 1;
  const named = Math.min(130, width * 0.34), room = 92;
  const most = Math.max(...rows.map(value), 0) || 1, scale = Math.max(20, width - named - room) / most;
  let svg = `<path class="axis" d="M${named - 0.5} 0V${rows.length * BAR}"/>`;
  const places = rows.map((row, index) => {
    const y = index * BAR + 4, height = BAR - 8;
    let x = named, parts = "";
    metric.parts.forEach((part, place) => {
      const length = Math.max(0, row[ROW.values][part] || 0) * scale;
      if (length > 0) {
        const fill = stacked ? `var(--p${place % 4})` : colour(row[ROW.strategy]);
        parts += `<rect class="bar" x="${round(x)}" y="${y}" width="${round(Math.max(0.5, length - (stacked && length > 3 ? 1 : 0)))}" height="${height}" fill="${fill}"/>`;
      }
      x += length;
    });
    const end = Math.min(x, width - room);
    svg += text(named - 8, y + 12, brief(strategy(row), Math.floor(named / 7.5)), "end", "name");
    svg += `<g class="point">${parts}</g>${text(end + 6, y + 12, metric.unit === "ns" ? shortly(value(row), "ns") : `${number(value(row))} ${metric.unit}`, "start", "name")}`;
    return { x: Math.min(end, width - 20), y: y + height / 2, index, row: true };
  });
  chart.order = rows.map((_, index) => index);
  return { svg, height: Math.max(BAR, rows.length * BAR), places, crossed: [] };
};

// A chart and its table.

const state = { allocator: 0, heap: 0, values: 0 };
const shapes = new Map(); // the shape chosen in a section
const isShown = (row) => allocator(row) === state.allocator && row[ROW.heap] === state.heap;
const chosenText = () => `allocator ${brief(data.allocators[state.allocator], 60)}, ${brief(data.heaps[state.heap], 60)} heap`;

const sample = (index, part) => part
  ? `<svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" fill="var(--p${index % 4})"/></svg>`
  : `<svg width="14" height="12" aria-hidden="true"><path fill="${colour(index)}" d="${mark(index, 7, 6)}"/></svg>`;

const sources = (rows) => {
  const places = [...new Set(rows.map((row) => row[ROW.source]))];
  const alignments = [...new Set(rows.map((row) => data.words[row[ROW.alignment]]))];
  const of = places.slice(0, 2).map((place) => {
    const [, , environment, machine, run] = data.sources[place];
    return [data.words[environment], data.words[machine], `run ${place + 1} of ${data.words[run]}`].filter((part) => part).join("; ");
  });
  if (places.length > 2) of.push(`and ${places.length - 2} runs more`);
  return [`alignment ${alignments.slice(0, 4).join(", ")}`, ...of].join("; ");
};

// A table but for its rows.
const head = ({ title, metric }) => {
  const heads = [["strategy"], ["shape"], ["bytes", true], ...metric.columns.map((name) => [name, true]), ["allocator"], ["heap"], ["alignment"], ["run"]];
  const cells = heads.map(([name, isNumber]) => `<th scope="col"${isNumber ? ' class="number"' : ""}>${esc(name)}</th>`);
  return `<caption class="hidden">${esc(title)}: ${esc(chosenText())}</caption><thead><tr>${cells.join("")}</tr></thead><tbody></tbody>`;
};
const line = (row) => {
  const numbers = [row[ROW.size], ...row[ROW.values]].map((value) => `<td class="number">${number(value)}</td>`);
  const words = [data.allocators[allocator(row)], data.heaps[row[ROW.heap]], data.words[row[ROW.alignment]], row[ROW.source] + 1];
  return `<tr><th scope="row">${esc(strategy(row))}</th><td>${esc(shape(row))}</td>${numbers.join("")}${words.map((word) => `<td>${esc(word)}</td>`).join("")}</tr>`;
};

// The shapes of the bars of a section that have rows now.
const known = new Map(); // by section, until another state is chosen
const options = (section) => {
  if (known.has(section)) return known.get(section);
  const found = new Map();
  known.set(section, found);
  for (const chart of charts) {
    if (chart.section === section && !chart.curve) chart.rows.filter(isShown).forEach((row) => found.set(row[ROW.shape], shape(row)));
  }
  return found;
};

// The shape that shows most: the one with the largest share of zeroing.
const choose = (section, found) => {
  const sums = new Map();
  for (const chart of charts) {
    if (chart.section !== section || chart.curve || chart.metric.parts.length === 1) continue;
    for (const row of chart.rows.filter(isShown)) {
      const sum = sums.get(row[ROW.shape]) || [0, 0];
      sums.set(row[ROW.shape], [sum[0] + row[ROW.values][1], sum[1] + value(row)]);
    }
  }
  const share = ([zeroing, all]) => zeroing / (all || 1);
  const best = [...sums].sort((a, b) => share(b[1]) - share(a[1]))[0];
  return best ? best[0] : found.keys().next().value;
};

// Fills in the next rows of the table of a chart.
const fill = (chart) => {
  const { now, filled, figure } = chart;
  if (filled === 0) figure.querySelector("table").innerHTML = head(chart);
  const rows = now.slice(filled, filled + ROWS);
  figure.querySelector("tbody").insertAdjacentHTML("beforeend", rows.map(line).join(""));
  chart.filled += ROWS;
  chart.stale = chart.filled < now.length;
};

const draw = (chart) => {
  Object.assign(chart, { dirty: false, stale: true, filled: 0 });
  const { figure, metric } = chart, part = (selector) => figure.querySelector(selector);
  let rows = chart.rows.filter(isShown);
  if (!chart.curve) {
    const found = options(chart.section);
    if (!found.has(shapes.get(chart.section))) shapes.set(chart.section, choose(chart.section, found));
    const chosen = shapes.get(chart.section), select = part("select");
    part(".shape").hidden = found.size === 0;
    select.innerHTML = [...found].map(([place, name]) => `<option value="${place}"${place === chosen ? " selected" : ""}>${esc(brief(name, 60))}</option>`).join("");
    rows = rows.filter((row) => row[ROW.shape] === chosen);
  }
  const plot = part(".plot"), count = rows.length;
  hide(chart);
  Object.assign(chart, { now: rows, at: 0, places: [], order: [] });
  part(".count").textContent = count === 1 ? "1 row" : `${count.toLocaleString("en-US")} rows`;
  part(".of").textContent = `${metric.what}; ${chosenText()}${count ? `; ${sources(rows)}` : ""}.`.replace(/^./, (c) => c.toUpperCase());
  const crossed = part(".crossings");
  if (count === 0) {
    part(".legend").innerHTML = "";
    plot.removeAttribute("tabindex"); plot.removeAttribute("role"); plot.removeAttribute("aria-label");
    plot.innerHTML = `<p class="empty">Nothing of this was measured of that shape under ${esc(chosenText())}.</p>`;
    crossed.hidden = true;
    return;
  }
  const { width } = chart;
  const drawn = (chart.curve ? curve : bars)(chart, rows, width);
  chart.places = drawn.places;
  const used = [...new Set(rows.map((row) => row[ROW.strategy]))].sort((a, b) => a - b);
  const legend = chart.curve
    ? used.map((index) => [index, data.strategies[index] + (index === data.floor ? " (dashed)" : "")])
    : metric.parts.length > 1 ? metric.parts.map((_, index) => [index, PARTS[index]]) : [];
  part(".legend").innerHTML = legend.map(([index, name]) => `<li>${sample(index, !chart.curve)}<span>${esc(brief(name, 60))}</span></li>`).join("");
  const marked = drawn.marked ?? 0;
  const values = rows.map(value);
  const range = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))].map((end) => exactly(end, metric.unit));
  const label = `${chart.title}, ${chosenText()}: ${count} points of ${used.length} strategies, ${range[0]} to ${range[1]}${marked ? `, ${marked} crossings marked` : ""}. The table below has the numbers.`;
  plot.innerHTML = `<svg role="img" aria-label="${esc(label)}" width="${width}" height="${drawn.height}" viewBox="0 0 ${width} ${drawn.height}">${drawn.svg}</svg>`;
  plot.tabIndex = 0;
  plot.setAttribute("role", "group");
  plot.setAttribute("aria-label", `Points of ${chart.title}: the arrow keys go from one to another`);
  crossed.hidden = drawn.crossed.length === 0 && !drawn.tooMany;
  if (drawn.tooMany) {
    crossed.querySelector("summary").textContent = `Crossings are not marked among more than ${LINES} lines`;
    crossed.querySelector("ul").innerHTML = "";
  } else if (!crossed.hidden) {
    const all = drawn.crossed.length;
    crossed.querySelector("summary").textContent = `${all} ${all === 1 ? "crossing" : "crossings"} of strategies${all > marked ? `, ${marked} of them marked` : ""}`;
    crossed.querySelector("ul").innerHTML = drawn.crossed.slice(0, MARKED).map(({ size, y, lead, below, above }) =>
      `<li>From about ${bytes(size)} on (${esc(shortly(y, metric.unit))}${metric.unit === "ns" ? "" : ` ${metric.unit}`}) ${esc(brief(data.strategies[below], 60))} is below ${esc(brief(data.strategies[above], 60))}${lead ? ", and is the least" : ""}</li>`).join("") + (all > MARKED ? `<li>and ${all - MARKED} more</li>` : "");
  }
};

// The numbers of a point, beside it and for screen readers.

const show = (chart, index, aloud) => {
  const place = chart.places[index], plot = chart.figure.querySelector(".plot"), svg = plot.querySelector("svg");
  if (!place || !svg) return;
  hide(chart);
  chart.at = index;
  svg.insertAdjacentHTML("beforeend", place.row
    ? `<rect class="ring" x="1" y="${place.y - BAR / 2 + 1}" width="${svg.clientWidth - 2}" height="${BAR - 2}" rx="3"/>`
    : `<circle class="ring" cx="${place.x}" cy="${place.y}" r="8"/>`);
  const words = said(chart.now[index], chart.metric);
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("aria-hidden", "true");
  tip.innerHTML = words.map((line, place) => `<div>${place ? esc(line) : `<strong>${esc(brief(line, 120))}</strong>`}</div>`).join("");
  plot.append(tip);
  const left = Math.max(0, Math.min(plot.clientWidth - tip.offsetWidth, place.x + 12));
  const above = place.y - tip.offsetHeight - 12;
  tip.style.left = `${left}px`;
  tip.style.top = `${above > -20 ? above : place.y + 14}px`;
  if (aloud) chart.figure.querySelector("output").textContent = words.join(". ");
};
const hide = (chart) => {
  chart.figure.querySelectorAll(".tip, .ring").forEach((part) => part.remove());
};

const listen = (chart) => {
  const plot = chart.figure.querySelector(".plot");
  const nearest = (event) => {
    const box = plot.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    let best = -1, least = chart.curve ? 40 ** 2 : Infinity;
    chart.places.forEach((place, index) => {
      const distance = (place.row ? 0 : (place.x - x) ** 2) + (place.y - y) ** 2;
      if (distance < least) { least = distance; best = index; }
    });
    return best;
  };
  const point = (event) => {
    const index = nearest(event);
    if (index < 0) hide(chart); else if (index !== chart.at || !plot.querySelector(".tip")) show(chart, index, false);
  };
  plot.addEventListener("pointermove", point);
  plot.addEventListener("pointerdown", point);
  plot.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(chart); });
  plot.addEventListener("focus", () => { if (plot.matches(":focus-visible") && chart.order.length) show(chart, chart.order[0], true); });
  plot.addEventListener("blur", () => hide(chart));
  plot.addEventListener("keydown", (event) => {
    const { order } = chart, at = order.indexOf(chart.at), last = order.length - 1;
    let to = null;
    const other = (step) => {
      // The nearest point of the next line.
      if (!chart.curve) return order[Math.max(0, Math.min(last, at + step))];
      const all = [...new Set(order.map((index) => chart.places[index].line))], here = chart.places[chart.at];
      const line = all[(all.indexOf(here.line) + step + all.length) % all.length];
      return line.points.reduce((a, b) => (Math.abs(chart.places[b.index].x - here.x) < Math.abs(chart.places[a.index].x - here.x) ? b : a)).index;
    };
    if (order.length === 0) return;
    if (event.key === "ArrowRight") to = order[Math.min(last, at + 1)];
    else if (event.key === "ArrowLeft") to = order[Math.max(0, at - 1)];
    else if (event.key === "ArrowDown") to = other(1);
    else if (event.key === "ArrowUp") to = other(-1);
    else if (event.key === "Home") to = order[0];
    else if (event.key === "End") to = order[last];
    else if (event.key === "Escape") hide(chart);
    if (to !== null) { event.preventDefault(); show(chart, to, true); }
  });
  chart.figure.querySelector("select").addEventListener("change", (event) => {
    shapes.set(chart.section, Number(event.target.value));
    redraw(charts.filter((other) => other.section === chart.section && !other.curve));
  });
  chart.figure.querySelector(".to-table").addEventListener("click", () => open(`${chart.figure.id}-table`));
};

// What changes is drawn at once where it is seen, then the rest.

let pending = [], timer = null;
const body = document.body;
const step = () => {
  const chart = pending[0];
  if (chart.dirty) draw(chart); else if (chart.stale) fill(chart); else pending.shift();
};
const rest = () => {
  timer = null;
  const until = performance.now() + 12;
  while (pending.length && performance.now() < until) step();
  if (pending.length) timer = setTimeout(rest, 0); else body.removeAttribute("aria-busy");
};
// Reads all sizes before anything is written, so that they are computed once.
const measure = (some) => {
  const sizes = some.map(({ figure }) => [figure.getBoundingClientRect(), figure.querySelector(".plot").clientWidth]);
  some.forEach((chart, index) => { chart.width = Math.max(220, Math.floor(sizes[index][1])); });
  return some.filter((_, index) => sizes[index][0].bottom > 0 && sizes[index][0].top < window.innerHeight);
};
// A chart without points steps aside; a line below the others of its section leads to it.
const setAside = () => {
  for (const section of new Set(charts.map(({ figure }) => figure.closest("section")))) {
    const without = charts.filter((chart) => section.contains(chart.figure) && (chart.figure.hidden = !chart.rows.some(isShown)));
    const line = section.querySelector(".elsewhere");
    line.hidden = without.length === 0;
    line.innerHTML = `Not measured under ${esc(chosenText())}: ${without.map(({ figure, title }) => `<a href="#${figure.id}">${esc(title)}</a>`).join(", ")}.`;
  }
};
const redraw = (some) => {
  const until = performance.now() + 15;
  known.clear();
  const seen = measure(some);
  some.forEach((chart) => { chart.dirty = true; });
  for (const chart of seen) if (chart === seen[0] || performance.now() < until) draw(chart);
  pending = [...new Set([...seen, ...charts])].filter((chart) => chart.dirty || chart.stale);
  if (pending.length) body.setAttribute("aria-busy", "true");
  // After what was drawn is painted.
  if (timer === null) timer = requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(rest, 0)));
};
const tell = () => {
  const full = charts.filter((chart) => chart.rows.some(isShown)).length;
  document.getElementById("state").textContent = data.rows.length ? `${full} of ${charts.length} charts have points under ${chosenText()}.` : "";
};

// What a link leads to is shown, under the choice next to that of now where there are points of it.
const open = (id) => {
  const target = document.getElementById(id), chart = charts.find(({ figure }) => figure.contains(target));
  if (chart?.figure.hidden) {
    const near = chart.rows.find((row) => allocator(row) === state.allocator) ?? chart.rows.find((row) => row[ROW.heap] === state.heap) ?? chart.rows[0];
    turn({ allocator: allocator(near), heap: near[ROW.heap] });
    while (pending.length) step();
    target.scrollIntoView();
  }
  if (target instanceof HTMLDetailsElement) { target.open = true; target.querySelector("summary").focus({ preventScroll: true }); target.scrollIntoView({ block: "nearest" }); }
};

const figures = document.querySelectorAll("figure");
const charts = data.charts.map((chart, index) => ({
  ...chart,
  metric: data.metrics[chart.metric],
  rows: chart.rows.map((place) => data.rows[place]),
  figure: figures[index],
  title: figures[index].querySelector("h3").textContent,
  dirty: true, stale: true, filled: 0, width: 0, crossed: {}, now: [], places: [], order: [], at: 0,
}));

const form = document.getElementById("switches");
const turn = (choice) => {
  Object.assign(state, choice);
  for (const [name, place] of Object.entries(choice)) {
    for (const input of form.querySelectorAll(`input[name="${name}"]`)) input.checked = Number(input.value) === place;
  }
  if ("values" in choice) return redraw(charts.filter((chart) => chart.curve));
  tell();
  setAside();
  redraw(charts);
};
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("change", (event) => turn({ [event.target.name]: Number(event.target.value) }));
const first = (names, wanted) => Math.max(0, names.indexOf(wanted));
let width = body.clientWidth;
window.addEventListener("resize", () => { if (body.clientWidth !== width) { width = body.clientWidth; redraw(charts); } });
window.addEventListener("hashchange", () => open(location.hash.slice(1)));
charts.forEach(listen);
turn({ allocator: first(data.allocators, "system"), heap: first(data.heaps, "recycled") });
while (pending.length) step();
if (location.hash) open(location.hash.slice(1));
})();
