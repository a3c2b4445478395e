import { html, type Html } from '../../src/config/html.ts'

export interface Bar {
  name: string
  count: number
  /** Colours the bar. */ status?: string
}
interface Day {
  day: string
  backlog: number
  active: number
  done: number
  archived: number
}

/** The room of the curves, in the drawing's own units, and what is around them. */
const room = { width: 290, height: 110, left: 30, top: 8, bottom: 22 }

/** Bars with their names and counts, the longest over the whole width. */
export function drawBars(bars: readonly Bar[]): Html {
  const maxCount = Math.max(...bars.map(({ count }) => count), 1)
  return html`<table class="bars">${bars.map(({ name, count, status }) => html`<tr><td>${name}</td><td><svg class="${status ?? ''}" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect width="${Math.max((count / maxCount) * 100, count > 0 ? 0.5 : 0).toFixed(1)}" height="4"/></svg></td><td class="number">${count.toLocaleString('en')}</td></tr>`)}</table>`
}

/** The curves of all cards and of those that are done, day by day: where they meet, the work is done. Needs two days. */
export function drawCurves(history: readonly Day[]): Html {
  const all = history.map(({ backlog, active, done, archived }) => backlog + active + done + archived)
  const done = history.map(day => day.done + day.archived)
  const maxCount = Math.max(...all, 1)
  const points = (counts: readonly number[]) =>
    counts
      .map(
        (count, at) =>
          `${(room.left + (at / (counts.length - 1)) * room.width).toFixed(1)},${(room.top + (1 - count / maxCount) * room.height).toFixed(1)}`,
      )
      .join(' L')
  const [under, right] = [room.top + room.height, room.left + room.width]
  const day = (at: number) => history.at(at)!.day
  return html`<div><span class="key">all</span><span class="key done">done</span></div>
<svg class="curves" viewBox="0 0 ${right + 6} ${under + room.bottom}" role="img" aria-label="From ${day(0)} to ${day(-1)}: ${all.at(-1)} cards, ${done.at(-1)} done">
${[0, 0.5, 1].map(part => html`<line x1="${room.left}" x2="${right}" y1="${under - part * room.height}" y2="${under - part * room.height}"/>`)}
<text x="${room.left - 6}" y="${room.top + 4}" text-anchor="end">${maxCount.toLocaleString('en')}</text><text x="${room.left - 6}" y="${under + 4}" text-anchor="end">0</text>
<text x="${room.left}" y="${under + 16}">${day(0)}</text><text x="${right}" y="${under + 16}" text-anchor="end">${day(-1)}</text>
<path class="under" d="M${points(done)} L${right},${under} L${room.left},${under}Z"/><path d="M${points(all)}"/><path class="done" d="M${points(done)}"/></svg>`
}
