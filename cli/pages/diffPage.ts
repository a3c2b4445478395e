import { html, type Html } from '../../src/config/html.ts'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import type { Card } from '../cards/cardApi.ts'
import { changesOf, diffLines, type DiffLine, type FileChange } from '../output/diffText.ts'
import { counted, labelMarks, note, statusMark, type Page } from './page.ts'

type Diff = Output<Contract['agents']['diff']>
interface File extends FileChange {
  lines: DiffLine[]
}

/** A browser shows as much without trouble. */
const maxLines = 20_000
const maxLength = 2000
/** A file with more lines is closed at first. */
const maxOpenLines = 1500
const maxListedFiles = 2000

/** What a card has changed: the files first, then each with its lines. */
export function diffPage(card: Card, { diff, stats, truncated }: Diff): Page {
  const files = filesOf(diff)
  const all = files.reduce((sum, { lines }) => sum + lines.length, 0)
  const shown = bounded(files)
  return {
    title: `Diff of #${card.id}: ${card.title}`,
    name: `diff-${card.id}`,
    header: html`<div class="where">Changes of card #${card.id}</div><h1>${card.title}</h1><div class="marks">${statusMark(card.status, card.statusReason)}${labelMarks(card.labels)}</div>`,
    body: html`${truncated ? note('The diff is too large for the server; this is its beginning.') : undefined}
${all > maxLines ? note(`The page shows the first ${maxLines.toLocaleString('en')} of ${all.toLocaleString('en')} lines. All of them: board cards diff ${card.id}`) : undefined}
<p>${counted(stats.filesChanged, 'file')} changed, <span class="plus">${stats.insertions.toLocaleString('en')} inserted</span>, <span class="minus">${stats.deletions.toLocaleString('en')} deleted</span>.</p>
${files.length > 0 ? html`<div class="sheet"><table class="files">${files.slice(0, maxListedFiles).map((file, at) => listed(file, at, at < shown.length))}</table>${files.length > maxListedFiles ? html`<p class="dim">and ${counted(files.length - maxListedFiles, 'more file')}</p>` : undefined}</div>` : undefined}
${shown.map(drawFile)}`,
  }
}

/** The diff's lines by file. */
function filesOf(diff: string): File[] {
  const files: File[] = changesOf(diff).map(change => ({ ...change, lines: [] }))
  let at = -1
  for (const line of diffLines(diff)) {
    if (line.kind === 'file') at++
    else if (!isKnown(line)) files[at]?.lines.push(line)
  }
  return files
}

/** What the file's head says already. */
const isKnown = ({ kind, text }: DiffLine): boolean => kind === 'head' && /^(index |--- |\+\+\+ )/.test(text)

/** The files up to where there are too many lines. */
function bounded(files: readonly File[]): File[] {
  let left = maxLines
  return files.flatMap(file => {
    if (left <= 0) return []
    const lines = file.lines.slice(0, left)
    left -= Math.max(1, lines.length)
    return [{ ...file, lines }]
  })
}

const numbers = ({ insertions, deletions }: FileChange): Html =>
  html`<span class="plus">+${insertions}</span> <span class="minus">&minus;${deletions}</span>`

const listed = (file: File, at: number, isShown: boolean): Html =>
  html`<tr><td class="code">${isShown ? html`<a href="#file-${at + 1}">${file.path}</a>` : file.path}</td><td class="number">${numbers(file)}</td></tr>`

const drawFile = (file: File, at: number): Html => html`
<details class="file" id="file-${at + 1}"${file.lines.length > maxOpenLines ? undefined : html` open`}><summary><span class="code">${file.path}</span> <span>${numbers(file)}</span></summary>
<div class="scroll"><table class="lines">${drawLines(file.lines)}</table></div></details>`

/** Lines with their numbers before and after. What Git says around them has none. */
function drawLines(lines: readonly DiffLine[]): Html[] {
  let [before, after] = [0, 0]
  return lines.map(({ kind, text }) => {
    if (kind === 'hunk')
      [before, after] = (/^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(text)?.slice(1).map(Number) as [number, number]) ?? [0, 0]
    const isLine = kind === 'added' || kind === 'removed' || (kind === 'same' && !text.startsWith('\\'))
    return html`<tr class="${kind}"><td class="number">${isLine && kind !== 'added' ? before++ : undefined}</td><td class="number">${isLine && kind !== 'removed' ? after++ : undefined}</td><td>${text.length > maxLength ? `${text.slice(0, maxLength).toWellFormed()} … ${counted(text.length - maxLength, 'more character')}` : text}</td></tr>
`
  })
}
