import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '../../src/client/index.ts'
import { FakeForge, type ForgeKind } from '../support/forge/fakeForge.ts'
import { tieProject } from '../support/forge/issueBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { bundled } from './bundled.ts'
import type { Dice } from './dice.ts'

const maxDelayMs = 600
const patienceMs = 120_000
/** The interval in which an unfinished action of a server is requested again. */
const askAgainMs = 250

/** The servers of the board on a way: one server, or several. */
export interface Servers {
  /** The client of a running server. */
  readonly client: Client
  /** The folder of the cards' worktrees. */
  readonly worktrees: string
  start(): Promise<void>
  /** Kills the working server with SIGKILL. @returns once a server works again */
  kill(): Promise<void>
  /** Stops the servers. @returns the exit code of each, and all their output */
  stop(): Promise<{ codes: Array<number | null>; said: string }>
  /** Removes the files of the way, after success and failure. */
  clearAway(): Promise<void>
}

/** The board's adapter for the forge. */
export type Kind = ForgeKind | 'command'

interface Going {
  kind?: Kind
  /** Creates the servers in a folder. */
  servers(root: string): Promise<Servers>
  dice: Dice
  /** Called when the forge is running. */
  begun?(forge: FakeForge): void
  /** Waits for the time of the kill, usually in the step or in its effects. */
  moment?(forge: FakeForge): Promise<unknown>
  /** Whether the server is killed at a step. */
  isKilledAt?(step: number): boolean
}

export const steps = 7

/** The final state on both sides. */
export interface End {
  /** The content of the file that the agent has changed. */
  merged: string | undefined
  requests: string[]
  answers: string[]
  issue: string
  /** How often the issue was closed. */
  closings: number
  /** The number of comments on the issue. */
  said: number
  cards: number
  card: { column: string; pull: string | undefined; issue: string | undefined }
  sentBack: number
  /** The exit codes of stopped servers. */
  codes: Array<number | null>
  holdersOfToken: string[]
}
export const end: End = {
  merged: 'one\nfixed\nreviewed',
  requests: ['merged'],
  answers: ['Done: Fixed what?', 'Done: Why one?'],
  issue: 'closed',
  closings: 1,
  said: 1,
  cards: 1,
  card: { column: 'Done', pull: 'merged', issue: 'closed' },
  sentBack: 2,
  codes: [0],
  holdersOfToken: [],
}

/** An issue on its way to a merged request. */
export class Way {
  readonly servers: Servers
  readonly root: string
  readonly forge: FakeForge
  readonly projectId: string
  readonly issue: number
  readonly #going: Going
  #steps = 0
  cardId = ''

  private constructor(begin: { servers: Servers; root: string; forge: FakeForge; projectId: string }, going: Going) {
    const { servers, root, forge, projectId } = begin
    ;[this.servers, this.root, this.forge, this.projectId, this.#going] = [servers, root, forge, projectId, going]
    this.issue = forge.openIssue({ title: 'Roof', body: 'It leaks.', labels: ['board'] }).number
  }

  static async begin(going: Going): Promise<Way> {
    const { kind = 'github' } = going
    const root = mkdtempSync(join(tmpdir(), 'board-way-'))
    const forge = await FakeForge.start({ kind: kind === 'command' ? 'github' : kind, folder: join(root, 'forge') })
    going.begun?.(forge)
    const servers = await going.servers(root)
    begun.push({ servers, root, forge })
    await servers.start()
    const command = kind === 'command' ? await commandOf(forge, root) : undefined
    const projectId = await tieProject(servers, forge, { path: join(root, 'site'), command })
    await servers.client.projects.update({ id: projectId, agent: 'requested' })
    return new Way({ servers, root, forge, projectId }, going)
  }

  /** Performs an action, kills the server if scheduled for this step, and waits for the result. Repeats a request that a killed server did not answer. */
  async step<T>(act: () => unknown, what: string, result: () => Promise<T | undefined>): Promise<T> {
    const { dice, isKilledAt, moment } = this.#going
    const attempt = async () => void (await act())
    const killed = isKilledAt?.(this.#steps++)
    const acted = attempt().then(
      () => undefined,
      (error: unknown) => error,
    )
    if (killed) {
      await (moment ? moment(this.forge) : delay(dice.between(0, maxDelayMs)))
      await this.servers.kill()
    }
    let failure = await acted
    if (failure !== undefined && !killed) throw failure
    let askedAt = performance.now()
    return eventually(
      what,
      async () => {
        const found = await result().catch(() => undefined)
        if (found !== undefined || failure === undefined || performance.now() - askedAt < askAgainMs) return found
        failure = await attempt().catch((error: unknown) => error)
        askedAt = performance.now()
      },
      patienceMs,
    ).catch(async (error: Error) => {
      throw new Error(`${error.message}: ${await this.#describe()}`, { cause: failure ?? error })
    })
  }
  /** The state of a way that does not finish, for the error message. */
  async #describe(): Promise<string> {
    const { status, statusReason, columnName, lastAgentAction } = await this.card()
    const request = await this.client.pullRequests.get(this.ref).catch(() => undefined)
    const issues = await this.client.issues.list({ projectId: this.projectId })
    const [answers, worktrees] = [answersIn(this.forge), worktreesIn(this.servers.worktrees)]
    return JSON.stringify({ status, statusReason, columnName, lastAgentAction, request, issues, answers, worktrees })
  }
  get client(): Client {
    return this.servers.client
  }
  get ref() {
    return { projectId: this.projectId, cardId: this.cardId }
  }
  card = () => this.client.cards.get(this.ref)
  /** The head of a request, once it differs from this one. */
  async head(before?: string): Promise<string | undefined> {
    // As the last push left it: querying Git each time would block the forge.
    const { headSha } = this.forge.state.pulls.at(-1)!
    return headSha === before ? undefined : headSha
  }
}

const begun: Array<{ servers: Servers; root: string; forge: FakeForge }> = []

/** Ends and removes everything that ways have started. */
export async function clearWays(): Promise<void> {
  for (const { servers, root, forge } of begun.splice(0)) {
    await servers.clearAway()
    await forge.close()
    rmSync(root, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** A command that queries the forge, with the token in a separate file. */
async function commandOf({ apiUrl, url: webUrl, token }: FakeForge, root: string): Promise<string> {
  const folder = join(root, 'command')
  mkdirSync(folder)
  const program = await bundled('test/support/forge/commandProgram.ts', folder)
  const place = join(folder, 'forge.json')
  writeFileSync(place, JSON.stringify({ address: { kind: 'github', apiUrl, webUrl, repository: 'acme/site' }, token }))
  return `'${process.execPath}' '${program}' '${place}'`
}

/** @returns the final state, to be compared with `end` */
export async function goTheWay(going: Going): Promise<End> {
  const way = await Way.begin(going)
  const { forge, projectId } = way
  way.cardId = await way.step(
    () => {},
    'the card of the issue',
    async () => {
      const cards = await way.client.cards.list({ projectId })
      return cards.find(({ issue }) => issue?.number === way.issue)?.id
    },
  )
  await work(way)
  await review(way)
  await way.step(
    () => way.client.pullRequests.merge(way.ref),
    'the end',
    async () => {
      const card = await way.card()
      const isClosed = forge.issue(way.issue).state === 'closed' && card.issue?.state === 'closed'
      const isOver = card.columnType === 'done' && isClosed && !card.hasActiveAgent
      return isOver && worktreesIn(way.servers.worktrees).length === 0 ? true : undefined
    },
  )
  return outcome(way)
}

/** The card's agent works. */
async function work(way: Way): Promise<void> {
  const columns = await way.client.columns.list({ projectId: way.projectId })
  const active = columns.find(({ columnType }) => columnType === 'active')!
  await way.step(
    () => way.client.cards.move({ ...way.ref, columnId: active.id, position: 0 }),
    'the end of its agent',
    async () => {
      const card = await way.card()
      // A session that a dead server interrupted waits for a user to resume it.
      if (card.status === 'interrupted') await way.client.agents.retry(way.ref)
      return card.status === 'completed' || undefined
    },
  )
}

/** A request, a failing check, and a reviewer with two comments. */
async function review(way: Way): Promise<void> {
  const { forge } = way
  const first = await way.step(
    () => way.client.pullRequests.create(way.ref),
    'the request',
    async () => ((await way.card()).pullRequest?.state === 'open' ? way.head() : undefined),
  )
  const second = await way.step(
    () => forge.setCheck(first, 'build', 'failure', 'error: no roof\n'),
    'a fix',
    () => way.head(first),
  )
  const { number } = forge.pull()
  const third = await way.step(
    () => {
      forge.setCheck(second, 'build', 'success')
      const comments = ['Why one?', 'Fixed what?'].map((body, at) => ({ path: 'work.txt', line: at + 1, body }))
      forge.review(number, 'ann', 'changes_requested', comments)
    },
    'what the reviewer asked for',
    () => way.head(second),
  )
  await way.step(
    () => {
      forge.setCheck(third, 'build', 'success')
      forge.approve(number)
    },
    'the approval',
    async () => (answersIn(forge).length === 2 && (await way.card()).pullRequest?.review === 'approved') || undefined,
  )
}

async function outcome(way: Way): Promise<End> {
  const { forge, projectId } = way
  // A daemon that woke up after its replacement took over opens its database again.
  const read = () =>
    Promise.all([way.card(), way.client.cards.list({ projectId }), way.client.pullRequests.get(way.ref)])
  const answers = await eventually('all answers', () => read().catch(() => undefined), patienceMs)
  const [card, cards, { rounds: sentBack }] = answers
  const { codes, said } = await way.servers.stop()
  return {
    merged: forge.repository.read(forge.repository.defaultBranch, 'work.txt'),
    requests: forge.state.pulls.map(({ state }) => state),
    answers: answersIn(forge).toSorted(),
    issue: forge.issue(way.issue).state,
    closings: closingsOf(forge),
    said: forge.state.comments.filter(({ number: on }) => on === way.issue).length,
    cards: cards.length,
    card: { column: card.columnName, pull: card.pullRequest?.state, issue: card.issue?.state },
    sentBack,
    codes: [...new Set(codes)],
    holdersOfToken: holdersOf(forge.token, way.root, said),
  }
}

/** How often an issue was closed on the forge: more than once if it was reopened in between. */
const closingsOf = ({ deliveries }: FakeForge): number =>
  deliveries.filter(({ event, body }) => /^issues?\b/i.test(event) && /"action":"closed?"/.test(body)).length

const answersIn = (forge: FakeForge): string[] =>
  forge.state.lineComments.filter(({ author }) => author === forge.login).map(({ body }) => body)

const worktreesIn = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(path => path.endsWith('work.txt'))
    : []

/** The files with the plain token: in the servers' folders, the repository, or the servers' output. The command's own file can have it. */
function holdersOf(token: string, root: string, said: string): string[] {
  const files = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && !/^(forge|command)(\/|$)/.test(entry.parentPath.slice(root.length + 1)))
    .map(entry => join(entry.parentPath, entry.name))
  return [...files.filter(path => readFileSync(path).includes(token)), ...(said.includes(token) ? ['the log'] : [])]
}
