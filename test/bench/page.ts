import { existsSync, readFileSync, writeFileSync } from 'node:fs'

/** The measurements of one program: a table of a page, which that program replaces completely. */
export interface Part {
  /** The program's name in the marks of the page. */
  name: string
  /** The command that measures again and writes the table. */
  command: string
  /** The machine with its own speed, of the same run. */
  machine: string
  heads: readonly string[]
  rows: ReadonlyArray<readonly string[]>
}
export interface WrittenPart extends Part {
  /** The day of the measurement. */
  measuredOn: string
}

/** The part in which each write lists the missed targets of all other parts. */
const shortfalls = 'missed targets'
const machineShape =
  /^\d+ × .+: a request to a bare node:http server \d+ µs, a synced write of 4 KiB [\d.]+ ms(?: \(in memory\))?, `node -e 0` \d+ ms; load [\d.]+ when it began\.$/

/** Replaces a program's part of a page, and keeps the other parts. @throws TypeError as `requireParts` does */
export function writePart(page: string, part: Part): void {
  requireParts(page, [part.name])
  const head = `\`${part.command}\`, ${new Date().toISOString().slice(0, 10)}. ${part.machine}`
  const text = withPart(readFileSync(page, 'utf8'), page, part.name, [head, '', ...tableOf(part.heads, part.rows)])
  writeFileSync(page, placesIn(text, page).has(shortfalls) ? withShortfalls(text, page) : text)
}

/** @throws TypeError if the page or the part does not exist, a row is outside the parts, or the format is not that of the programs */
export function requireParts(page: string, names: readonly string[]): void {
  if (!existsSync(page))
    throw new TypeError(`There is no page ${page}. It must be there, with the lines ${names.map(marksOf).join(', ')}.`)
  const places = placesIn(readFileSync(page, 'utf8'), page)
  const missing = names.find(name => !places.has(name))
  if (missing !== undefined)
    throw new TypeError(`${page} has no lines ${marksOf(missing)}, between which this program writes.`)
}

/** All parts of a page that a program has written, by name. @throws TypeError if the format of a part is not that of the programs */
export function readParts(text: string, page: string): Map<string, WrittenPart> {
  const bodies = [...placesIn(text, page)].map(([name, { from, to }]) => ({ name, body: text.slice(from, to).trim() }))
  return new Map(
    bodies
      .filter(({ name, body }) => name !== shortfalls && body !== '')
      .map(({ name, body }) => [name, partIn(body, `${page}: the part of ${name}`, name)]),
  )
}

/** Returns the page with an updated list of missed targets. */
export function withShortfalls(text: string, page: string): string {
  const rows = [...readParts(text, page).values()].flatMap(({ name, machine, heads, rows: all }) => {
    const load = /load ([\d.]+)/.exec(machine)![1]!
    const at = (row: readonly string[], head: string) => row[heads.indexOf(head)] ?? ''
    let whole = ''
    return all.flatMap(row => {
      const what = row[0]!.replace(/^…/, whole)
      if (what === row[0]) whole = what
      return at(row, 'verdict') === 'missed' ? [[what, at(row, 'ratio') || row[1]!, at(row, 'target'), load, name]] : []
    })
  })
  return withPart(
    text,
    page,
    shortfalls,
    rows.length === 0 ? ['None.'] : tableOf(['measurement', 'value', 'target', 'load', 'part'], rows),
  )
}

const marksOf = (name: string) => `<!-- begin: ${name} --> and <!-- end: ${name} -->`

function placesIn(text: string, page: string): Map<string, { from: number; to: number }> {
  const places = new Map<string, { from: number; to: number }>()
  let open: { name: string; from: number } | undefined
  for (const { 0: line, index } of text.matchAll(/^.*$/gm)) {
    const [, which, name = ''] = /^<!-- (begin|end): (.+) -->$/.exec(line) ?? []
    if (which === 'begin') {
      if (open || places.has(name)) throw new TypeError(`${page} begins the part of ${name} where it must not.`)
      open = { name, from: index + line.length }
    } else if (which === 'end') {
      if (open?.name !== name) throw new TypeError(`${page} ends the part of ${name}, which was not begun.`)
      places.set(name, { from: open.from, to: index })
      open = undefined
    } else if (!open && line.trimStart().startsWith('|'))
      throw new TypeError(`${page} has a row outside of the parts, which no program has written: ${line}`)
  }
  if (open) throw new TypeError(`${page} does not end the part of ${open.name}.`)
  return places
}

function withPart(text: string, page: string, name: string, lines: readonly string[]): string {
  const { from, to } = placesIn(text, page).get(name)!
  return `${text.slice(0, from)}\n\n${lines.join('\n')}\n\n${text.slice(to)}`
}

const tableOf = (heads: readonly string[], rows: ReadonlyArray<readonly string[]>): string[] =>
  [heads, heads.map(() => '---'), ...rows].map(
    cells => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`,
  )

const cellsOf = (line: string): string[] =>
  line
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map(cell => cell.trim().replaceAll('\\|', '|'))

function partIn(body: string, where: string, name: string): WrittenPart {
  const [head = '', blank, ...lines] = body.split('\n')
  const [, command, measuredOn, machine = ''] = /^`([^`]+)`, (\d{4}-\d\d-\d\d)\. (.+)$/.exec(head) ?? []
  if (command === undefined || measuredOn === undefined || !machineShape.test(machine))
    throw new TypeError(`${where} does not begin with its command, the day and the machine's own speed: ${head}`)
  const [heads = [], line, ...rows] = lines.map(cellsOf)
  if (
    blank !== '' ||
    rows.length === 0 ||
    line?.some(cell => cell !== '---') ||
    lines.some(each => !/^\|.*\|$/.test(each)) ||
    rows.some(row => row.length !== heads.length)
  )
    throw new TypeError(`${where} has no table of whole rows.`)
  return { name, command, measuredOn, machine, heads, rows }
}
