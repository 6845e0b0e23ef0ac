// How numbers and times are said; tokens exactly as the command line says them.

/** 812, 9.4k, 77k, 1.2M; with a tilde where it is an estimate. */
export function tokens(count) {
  const value = typeof count === "number" ? count : count?.value ?? 0;
  const about = typeof count === "object" && count && !count.exact ? "~" : "";
  return about + short(value);
}

function short(value) {
  const size = Math.abs(value);
  if (size < 1000) return `${Math.round(value)}`;
  if (size < 9950) return `${(value / 1000).toFixed(1)}k`;
  if (size < 999500) return `${Math.round(value / 1000)}k`;
  if (size < 9.95e6) return `${(value / 1e6).toFixed(1)}M`;
  return `${Math.round(value / 1e6)}M`;
}

export const value = (count) => (typeof count === "number" ? count : count?.value ?? 0);

export const percent = (share) => `${Math.round(share * 100)} %`;

/** now, 4 min, 3 h, 12 d, 5 mo, 3 y: as the command line says it. */
export function age(at) {
  const when = typeof at === "number" ? at * (at < 1e12 ? 1000 : 1) : Date.parse(at);
  if (!Number.isFinite(when)) return "";
  const seconds = Math.max(0, (Date.now() - when) / 1000);
  if (seconds < 60) return "now";
  for (const [size, most, unit] of [[60, 60, "min"], [3600, 48, "h"], [86400, 60, "d"]]) {
    if (seconds < size * most) return `${Math.floor(seconds / size)} ${unit}`;
  }
  const months = seconds / 86400 / 30.44;
  return months < 24 ? `${Math.floor(months)} mo` : `${Math.floor(months / 12)} y`;
}

/** What is to be raised is a setting, which the page has no place for. */
export const remedies = (text) => text.replace(/raise `(\w+)`/g, (_, named) => {
  const field = named.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return `raise \`${field}\` on the command line (--set ${field}=…)`;
});

export const many = (count, one, more = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : more}`;
