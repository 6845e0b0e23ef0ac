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

/** now, 4 min, 3 h, 12 d */
export function age(at) {
  const when = typeof at === "number" ? at * (at < 1e12 ? 1000 : 1) : Date.parse(at);
  if (!Number.isFinite(when)) return "";
  const seconds = Math.max(0, (Date.now() - when) / 1000);
  if (seconds < 45) return "now";
  if (seconds < 5400) return `${Math.max(1, Math.round(seconds / 60))} min`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

/** What is to be raised is a setting, which the page has no place for. */
export const remedies = (text) => text.replace(/raise `(\w+)`/g, "raise `$1` on the command line (--set $1=…)");

export const many = (count, one, more = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : more}`;
