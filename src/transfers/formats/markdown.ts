import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { setImmediate as breathe } from 'node:timers/promises'
import { importError } from '../importErrors.ts'
import { clean, fit, typeOf, Warnings, type Draft, type DraftCard, type Source } from './draft.ts'

const task = /^(\s*)(?:[-*+]|\d{1,9}[.)])\s+\[([ xX])\](?:\s+(.*))?$/
const heading = /^ {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*$/
const fence = /^\s*(```+|~~~+)/
/** How far a task must stand in to belong to the one before it. */
const nestedBy = 2

/** Tasks by their names in `map` where no heading says more. */
const todo: Source = { key: '[ ]', name: undefined, columnType: 'backlog' }
const done: Source = { key: '[x]', name: undefined, columnType: 'done' }

interface Task {
  title: string
  isDone: boolean
  heading: string | undefined
  indent: number
  below: string[]
}
interface State {
  tasks: Task[]
  headings: string[]
  heading: string | undefined
  name: string | undefined
  fence: string | undefined
  stray: number
}

/**
 * Reads task lists: each task is a card, what is nested in it or stands below it its prompt, a heading with tasks a column.
 * @throws Problem INVALID_IMPORT when there is no task
 */
export async function readMarkdown(path: string): Promise<Draft> {
  const state: State = { tasks: [], headings: [], heading: undefined, name: undefined, fence: undefined, stray: 0 }
  let lines = 0
  for await (const line of createInterface({ input: createReadStream(path, 'utf8'), crlfDelay: Infinity })) {
    take(state, ++lines === 1 ? line.replace(/^\ufeff/, '') : line)
    if (lines % 2000 === 0) await breathe()
  }
  if (state.tasks.length === 0) throw importError('', 'the file must hold tasks: lines like "- [ ] Something to do"')
  const warnings = new Warnings()
  warnings.count('Lines of text outside of tasks, left out', state.stray)
  const used = new Set(state.tasks.map(({ heading }) => heading))
  const sources = new Map(
    state.headings
      .filter(name => used.has(name))
      .map((name): [string, Source] => [name, { key: name, name, columnType: typeOf(name) }]),
  )
  const cards = state.tasks.map((each): DraftCard => ({
    source: sourceOf(each, sources),
    isArchived: false,
    ...fit({ title: each.title, sections: [dedent(each.below)], labels: [] }, warnings),
  }))
  const needed = new Set(cards.map(({ source }) => source))
  const name = state.name === undefined || used.has(state.name) ? undefined : state.name
  return {
    name,
    sources: [
      ...(sources.size === 0 || needed.has(todo) ? [todo] : []),
      ...sources.values(),
      ...(sources.size === 0 || needed.has(done) ? [done] : []),
    ],
    cards,
    warnings: warnings.list(),
  }
}

/** A task that is done belongs to what is done, unless its heading says where it stands. */
function sourceOf({ isDone, heading }: Task, sources: ReadonlyMap<string, Source>): Source {
  const named = heading === undefined ? undefined : sources.get(heading)
  if (isDone) return named?.columnType === 'done' || named?.columnType === 'archive' ? named : done
  return named ?? todo
}

function take(state: State, line: string): void {
  const current = state.tasks.at(-1)
  const mark = fence.exec(line)?.[1]
  if (state.fence !== undefined || mark) {
    if (state.fence === undefined) state.fence = mark
    else if (mark && mark[0] === state.fence[0] && mark.length >= state.fence.length && line.trim() === mark)
      state.fence = undefined
    return below(state, current, line)
  }
  const head = heading.exec(line)
  if (head) return begin(state, clean(head[2]).trim().slice(0, 200).toWellFormed())
  const found = task.exec(line)
  const indent = found ? width(found[1]!) : 0
  const isOpen = current !== undefined && current.heading === state.heading
  if (!found || (isOpen && indent >= current.indent + nestedBy)) return below(state, current, line)
  state.tasks.push({ title: found[3] ?? '', isDone: found[2] !== ' ', heading: state.heading, indent, below: [] })
}

function begin(state: State, name: string): void {
  state.name ??= name || undefined
  state.heading = name || undefined
  if (name && !state.headings.includes(name)) state.headings.push(name)
}

/** Text belongs to the task above it under the same heading. */
function below(state: State, current: Task | undefined, line: string): void {
  if (current && current.heading === state.heading) current.below.push(line)
  else if (line.trim() !== '') state.stray++
}

const width = (space: string) => [...space].reduce((sum, character) => sum + (character === '\t' ? 4 : 1), 0)

function dedent(lines: readonly string[]): string {
  const texts = lines.map(line => line.replace(/^\t+/, tabs => '    '.repeat(tabs.length)))
  const indent = texts.reduce(
    (least, line) => (line.trim() === '' ? least : Math.min(least, line.search(/\S/))),
    Infinity,
  )
  return texts
    .map(line => line.slice(Math.min(indent, line.search(/\S|$/))))
    .join('\n')
    .trim()
}
