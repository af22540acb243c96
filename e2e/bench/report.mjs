// Statistics, and the form in which every benchmark reports.

/** The middle of the values. */
export function median(values) {
  return quantile(values, 0.5);
}

/** The value below which a share of the values lies, interpolated. */
export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
}

/** A row of what was measured. */
export function row(name, unit, values) {
  const round = (value) => Math.round(value * 1000) / 1000;
  return { name, unit, median: round(median(values)), p95: round(quantile(values, 0.95)), n: values.length };
}

/** A bound on a figure, as the issue states it. */
export function bound(text, figure, holds) {
  return { text, figure: Math.round(figure * 1000) / 1000, holds };
}

/** Prints a table and the bounds, then with --json one line for programs; sets the exit code. */
export function report(bench, rows, bounds) {
  for (const { name, unit, median, p95, n } of rows) {
    console.log(`  ${name.padEnd(44)} ${String(median).padStart(10)} ${unit}   p95 ${p95}   n ${n}`);
  }
  for (const { text, figure, holds } of bounds) console.log(`  ${holds ? "holds " : "BROKEN"} ${text}: ${figure}`);
  const pass = bounds.every(({ holds }) => holds);
  if (process.argv.includes("--json")) console.log(JSON.stringify({ bench, rows, pass }));
  process.exitCode = pass ? 0 : 1;
}
