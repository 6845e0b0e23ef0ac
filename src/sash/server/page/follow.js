// A list that grows at its end stays there for whoever is at its end, and still for whoever reads further up.

const NEAR = 60; // pixels: an end that moved while somebody was scrolling to it

export function following(element) {
  let follows = true;
  let last = 0;

  function look() {
    const top = element.scrollTop;
    const below = element.scrollHeight - element.clientHeight - top;
    if (below <= 1 || (top > last && below < NEAR)) follows = true;
    else if (top < last) follows = false;
    last = top;
  }

  function toEnd() {
    follows = true;
    element.scrollTo({ top: element.scrollHeight, behavior: "instant" });
    last = element.scrollTop;
  }

  /** Changes what is in it; what somebody reads stays where it is, by its id. */
  function around(change) {
    look();
    const edge = element.getBoundingClientRect().top;
    const read = follows ? null : [...element.children].find((child) => child.id && child.getBoundingClientRect().bottom > edge);
    const place = read?.getBoundingClientRect().top;
    change();
    if (follows) return toEnd();
    const again = read && document.getElementById(read.id);
    if (again) element.scrollTo({ top: element.scrollTop + again.getBoundingClientRect().top - place, behavior: "instant" });
    last = element.scrollTop;
  }

  element.addEventListener("scroll", look);
  // The box below grows with what is written into it.
  new ResizeObserver(() => follows && toEnd()).observe(element);
  return { around, toEnd, leave: () => { follows = false; } };
}
