import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Child } from './child.ts'
import { digits, median, note, range, type Figures } from './figures.ts'
import type { Listener } from './listener.ts'
import type { Bench } from './bench.ts'
import type { Options } from './options.ts'
import { table } from './report.ts'
import type { Agent, Seeded } from './seed.ts'
import { makeProject, makeRepository, requestAs, type AskBoard } from './sessions.ts'
import { openAll } from './sockets.ts'

export const speaker = 'speaker'
const agentName = 'the agent'
const patienceMs = 60_000
/** The time in ms within which the server starts its work after a completed session. */
const settleMs = 200
/** The numbers of files and commits in the repositories. */
const repositories = { small: 1, large: 2000 } as const
export type RepositorySize = keyof typeof repositories
export const repositorySizes = Object.keys(repositories) as RepositorySize[]

/** The file in which a server below a folder records the processes it starts. */
export const traceIn = (folder: string): string => join(folder, 'processes.jsonl')

export const speakerOf = ({ firstWord }: Pick<Bench, 'firstWord'>, startMs: number): Agent => ({
  command: [process.execPath, firstWord, String(startMs)],
  env: {},
})

/** A board with started agents, and the file in which its server records the processes it starts. */
interface StartedBoard {
  board: Child
  seeded: Seeded
  trace: string
}
/** A project on a repository of one size, and a socket that follows it. */
export interface StartPlace {
  server: StartedBoard
  size: RepositorySize
  askBoard: AskBoard
  projectId: string
  idleColumnId: string
  columnId: string
  listener: Listener
}

export async function makeStartPlace(server: StartedBoard, folder: string, size: RepositorySize): Promise<StartPlace> {
  const askBoard = requestAs(server)
  const path = makeRepository(join(folder, `repository-${size}`))
  if (repositories[size] > 1) fillRepository(path, repositories[size])
  const { projectId, columnId } = await makeProject(askBoard, `Starts ${size}`, path)
  const columns = await askBoard<Array<{ id: string; columnType: string }>>('GET', `/api/projects/${projectId}/columns`)
  const idleColumnId = columns.find(({ columnType }) => columnType !== 'active')!.id
  const [listener] = await openAll(server.board.port, server.seeded.signInToken, 1, Number(projectId))
  return { server, size, askBoard, projectId, idleColumnId, columnId, listener: listener! }
}

/** Fills a repository with `count` files, of 2 kB each in one of 40 folders, and as many commits. */
export function fillRepository(path: string, count: number): void {
  const person = 'Bench <bench@example.org>'
  const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}\n`
  const commits = Array.from({ length: count }, (_, at) => {
    const text = `${'A line of some program.\n'.repeat(85)}${at}\n`
    const from = at === 0 ? 'from refs/heads/main^0\n' : ''
    return `commit refs/heads/main\ncommitter ${person} ${1_700_000_000 + at} +0000\n${data(`Change ${at}`)}${from}M 644 inline src/${at % 40}/file-${at}.txt\n${data(text)}`
  })
  execFileSync('git', ['-C', path, 'fast-import', '--quiet'], { input: commits.join('\n') })
  execFileSync('git', ['-C', path, 'reset', '--quiet', '--hard'])
}

/** The times of the steps of one start, in milliseconds since 1970. `began` to `ends` are the agent's own. */
interface AgentTimes {
  began: number
  initialize: number
  session: number
  prompt: number
  said: number
  /** The planned end of its turn. */
  ends: number
}
export interface StartTimes extends AgentTimes {
  asked: number
  answered: number
  heard: number
  /** The session is completed. */
  completed: number
  /** `ended` is undefined for one that still runs: the server listens to an agent for some seconds after its session. */
  processes: Array<{ began: number; ended: number | undefined; name: string }>
}

const now = () => performance.timeOrigin + performance.now()

/** Moves a card to a column that starts its agent, and waits for its first word and for its end. */
export async function startAgent(place: StartPlace): Promise<StartTimes> {
  const { askBoard, projectId, idleColumnId, columnId, listener, server } = place
  const card = { projectId, columnId: idleColumnId, title: 'Speak', prompt: 'Say a word.', agent: speaker }
  const { id } = await askBoard<{ id: string }>('POST', '/api/cards', card)
  writeFileSync(server.trace, '')
  const told = hear(listener, id)
  const asked = now()
  await askBoard('PATCH', `/api/projects/${projectId}/cards/${id}/move`, { columnId, position: 0 })
  const answered = now()
  const heard = await told
  return { asked, answered, ...heard, processes: await readTrace(server.trace) }
}

/** Resolves when a card's session has completed. */
function hear(listener: Listener, cardId: string): Promise<AgentTimes & Pick<StartTimes, 'heard' | 'completed'>> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('An agent that was started has said nothing.')), patienceMs)
    let word: (AgentTimes & { heard: number }) | undefined
    listener.onMessage = (text, at) => {
      const { type, data } = JSON.parse(text()) as {
        type: string
        data?: { cardId?: string; role?: string; content?: string; status?: string; statusReason?: string }
      }
      if (type === 'agent.message' && data?.role === 'agent')
        word ??= { ...(JSON.parse(data.content!) as AgentTimes), heard: performance.timeOrigin + at }
      if (
        type !== 'agent.status' ||
        data?.cardId !== cardId ||
        !['completed', 'failed', 'cancelled'].includes(data.status!)
      )
        return
      clearTimeout(timer)
      if (word && data.status === 'completed') resolve({ ...word, completed: performance.timeOrigin + at })
      else reject(new Error(`An agent that was started came to ${data.status} (${data.statusReason}).`))
    }
  })
}

/** The processes that the server has started, once it starts and ends no more. */
async function readTrace(trace: string): Promise<StartTimes['processes']> {
  for (let before = -1; ;) {
    const lines = readFileSync(trace, 'utf8').split('\n').slice(0, -1)
    if (lines.length === before) return processesIn(lines)
    before = lines.length
    await delay(settleMs)
  }
}

function processesIn(lines: readonly string[]): StartTimes['processes'] {
  const entries = lines.map(
    line => JSON.parse(line) as { pid: number; began?: number; ended?: number; argv?: string[] },
  )
  return entries
    .flatMap(({ pid, began, argv }, at) =>
      began === undefined || argv === undefined
        ? []
        : [{ began, ended: entries.slice(at).find(each => each.pid === pid && each.ended)?.ended, name: nameOf(argv) }],
    )
    .toSorted((a, b) => a.began - b.began)
}

/** `git update-ref`, `bwrap`. */
function nameOf([program, ...args]: string[]): string {
  const name = basename(program!)
  if (args.some(each => each.endsWith('/first-word.mjs'))) return agentName
  if (name !== 'git') return name
  const at = args.findIndex(
    (each, index) => !each.startsWith('-') && args[index - 1] !== '-c' && args[index - 1] !== '-C',
  )
  return `git ${args[at]}`
}

/** The consecutive parts of a start, which add up to the whole. */
const parts: ReadonlyArray<[title: string, from: (times: StartTimes) => number, to: (times: StartTimes) => number]> = [
  ['the move is answered', ({ asked }) => asked, ({ answered }) => answered],
  ['the first process is started', ({ answered }) => answered, ({ processes }) => processes[0]!.began],
  [
    'the agent is started: worktree, sandbox',
    ({ processes }) => processes[0]!.began,
    ({ processes }) => agentIn(processes).began,
  ],
  ['its process runs', ({ processes }) => agentIn(processes).began, ({ began }) => began],
  ['it is asked to initialize: its own start', ({ began }) => began, ({ initialize }) => initialize],
  ['it is asked for a session', ({ initialize }) => initialize, ({ session }) => session],
  ['it is prompted', ({ session }) => session, ({ prompt }) => prompt],
  ['it has said a word', ({ prompt }) => prompt, ({ said }) => said],
  ['a socket has the word', ({ said }) => said, ({ heard }) => heard],
]

function agentIn(processes: StartTimes['processes']): StartTimes['processes'][number] {
  const agent = processes.find(({ name }) => name === agentName)
  if (!agent) throw new Error(`No recorded process is the agent: ${processes.map(({ name }) => name).join(', ')}.`)
  return agent
}

/** From the move to the first word at a socket. */
export const firstWordMs = ({ asked, heard }: StartTimes): number => heard - asked

/** Records each part in ms, and for each process its start after the move and its duration. */
export function noteParts(figures: Figures, times: StartTimes): void {
  for (const [title, from, to] of parts) note(figures, `part/${title}`, to(times) - from(times))
  note(figures, 'part/after its turn, the session is completed', times.completed - times.ends)
  note(figures, 'whole', firstWordMs(times))
  const counts = new Map<string, number>()
  for (const { name, began, ended } of times.processes) {
    const count = (counts.get(name) ?? 0) + 1
    counts.set(name, count)
    const place = began < times.heard ? 'before' : 'after'
    note(figures, `${place}/${name}${count > 1 ? ` ${count}` : ''}/at`, began - times.asked)
    if (ended !== undefined) note(figures, `${place}/${name}${count > 1 ? ` ${count}` : ''}/ms`, ended - began)
  }
  note(figures, 'processes/before', times.processes.filter(({ began }) => began < times.heard).length)
  note(figures, 'processes/all', times.processes.length)
}

/** Starts agents in repositories of each size, and prints the parts of a start. */
export async function measureStartParts(
  server: StartedBoard,
  folder: string,
  { sessionRuns }: Pick<Options, 'sessionRuns'>,
): Promise<string> {
  const places = []
  for (const size of repositorySizes)
    places.push({ ...(await makeStartPlace(server, folder, size)), figures: new Map() })
  for (let round = 0; round <= sessionRuns; round++)
    for (const place of places) {
      const times = await startAgent(place)
      if (round > 0) noteParts(place.figures, times)
    }
  for (const { listener } of places) listener.close()
  return places.map(({ size, figures }) => partsText(`a repository of ${repositories[size]} files`, figures)).join('\n')
}

/** The parts of starts in a table, in ms. */
export function partsText(title: string, figures: Figures): string {
  const of = (name: string) => {
    const values = figures.get(name)!
    const { low, high } = range(values)
    return [digits(median(values)), `${digits(low)}–${digits(high)}`]
  }
  const partRows = [...figures.keys()]
    .filter(name => name.startsWith('part/'))
    .map(name => [name.slice('part/'.length), '', ...of(name)])
  const processRows = [...figures.keys()].flatMap(name => {
    const [place, process, what] = name.split('/')
    if (what !== 'ms' || place === 'part') return []
    return [
      [`${process}${place === 'after' ? ', after the first word' : ''}`, of(`${place}/${process}/at`)[0]!, ...of(name)],
    ]
  })
  const [before, all] = ['processes/before', 'processes/all'].map(name => median(figures.get(name)!))
  return [
    `An agent's start in ${title}, in ms: medians, and of rounds without the lowest and highest tenth.`,
    table([
      ['', 'begins after', 'takes', 'of rounds'],
      ['from the move to the first word', '', ...of('whole')],
      ...partRows,
      [`processes: ${before} before the first word, ${all} in all`, '', '', ''],
      ...processRows,
    ]),
  ].join('\n')
}
