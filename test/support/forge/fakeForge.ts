import { randomBytes, randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { BareRepository } from './bareRepository.ts'
import type { Fault } from './faults.ts'
import { closeServer, ForgeServer, listen, type ForgeRequest } from './forgeServer.ts'
import { ForgeState, type NewLineComment } from './forgeState.ts'
import { gitea } from './gitea.ts'
import { gitHub } from './github.ts'
import { gitLab } from './gitlab.ts'
import type { Change, Check, CheckState, Comment, Issue, MergeMethod, Protection, Pull, Review } from './model.ts'
import type { MakeWire, Wire } from './wire.ts'

export type ForgeKind = 'github' | 'gitlab' | 'gitea'
const wires: Record<ForgeKind, MakeWire> = { github: gitHub, gitlab: gitLab, gitea }
const tokenPrefixes: Record<ForgeKind, string> = { github: 'ghp_', gitlab: 'glpat-', gitea: '' }
/** The title prefix that makes a request a draft. */
const draftPrefixes: Record<ForgeKind, string> = { github: '', gitlab: 'Draft: ', gitea: 'WIP: ' }

export interface FakeForgeOptions {
  kind: ForgeKind
  /** The folder for its bare repository. */
  folder: string
  /** Starts with the branches of this repository. */
  from?: string
  owner?: string
  name?: string
  defaultBranch?: string
}
/** A delivery that a webhook has sent, or would have sent. */
export interface Delivery {
  id: string
  event: string
  body: string
}
export interface DeliverOptions {
  /** How often each delivery is sent. */
  times?: number
  /** Signs with this secret instead. An empty one: without a signature. */
  secret?: string
  /** Sends this body instead, with the signature of the original one. */
  body?: string
}

/**
 * A forge on this machine: the documented part of a forge's API over a real bare Git repository, with accounts, issues, requests,
 * reviews, checks and webhooks. It simulates users (`review`, `mergeByHand`), and faults on request (`fail`).
 */
export class FakeForge {
  /** The token of the account `login`, which the board acts as. */
  readonly token: string
  readonly login = 'board-bot'
  readonly repository: BareRepository
  readonly state: ForgeState
  /** All deliveries of webhooks, oldest first, including those for unsubscribed events. */
  readonly deliveries: Delivery[] = []
  /** Deliveries that webhooks have not sent yet because they are held. */
  readonly held: Delivery[] = []
  #webhook: { url: string; secret: string } | undefined
  #holds = false
  #sending: Promise<void> = Promise.resolve()
  readonly #server: ForgeServer
  readonly #storage: Server
  #wire!: Wire
  #storageUrl = ''
  /** Requests to the storage of logs, which need no token. */
  readonly storageRequests: { path: string; authorization: string | undefined }[] = []

  readonly options: Required<Omit<FakeForgeOptions, 'from'>> & { from?: string }

  private constructor(options: Required<Omit<FakeForgeOptions, 'from'>> & { from?: string }) {
    this.options = options
    const { kind, folder, defaultBranch, from, name } = options
    this.repository = new BareRepository(join(folder, `${name}.git`), defaultBranch, from)
    this.state = new ForgeState(this.repository, kind === 'gitlab', change => this.#changed(change))
    this.#server = new ForgeServer(this.state, { path: this.repository.path, owner: options.owner, name })
    this.token = this.addToken(this.login)
    for (const login of [options.owner, 'ann', 'bob']) this.state.account(login)
    this.#storage = createServer((request, response) => {
      this.storageRequests.push({ path: request.url!, authorization: request.headers.authorization })
      const check = this.state.checks.find(({ id }) => request.url!.startsWith(`/logs/${id}?sig=`))
      response.writeHead(check ? 200 : 404, { 'content-type': 'text/plain' })
      response.end(check?.log)
    })
  }

  static async start(options: FakeForgeOptions): Promise<FakeForge> {
    const forge = new FakeForge({ owner: 'acme', name: 'site', defaultBranch: 'main', ...options })
    forge.#storageUrl = await listen(forge.#storage)
    forge.#server.url = await listen(forge.#server.server)
    const { owner, name, kind } = forge.options
    const place = { url: forge.url, storageUrl: forge.#storageUrl, owner, name }
    forge.#wire = wires[kind](forge.state, place, randomBytes(8).toString('hex'))
    forge.#server.serve(forge.#wire)
    return forge
  }

  /** The address of its pages, which also contains its API and Git. */
  get url(): string {
    return this.#server.url
  }
  get apiUrl(): string {
    return `${this.url}${this.#wire.prefixes[0]!}`
  }
  /** The address of the repository for Git, without a token. */
  get cloneUrl(): string {
    return `${this.url}/${this.options.owner}/${this.options.name}.git`
  }
  /** All requests to the API and from Git, oldest first. */
  get requests(): ForgeRequest[] {
    return this.#server.requests
  }

  /** Creates another token, for this account. */
  addToken(login: string, token = `${tokenPrefixes[this.options.kind]}${randomBytes(20).toString('hex')}`): string {
    this.state.account(login)
    this.#server.tokens.set(token, login)
    return token
  }
  revoke(token: string): void {
    this.#server.tokens.delete(token)
  }

  openIssue({
    title,
    body = '',
    author = 'ann',
    labels = [],
  }: {
    title: string
    body?: string
    author?: string
    labels?: string[]
  }): Issue {
    return this.state.openIssue({ title, body, author, labels })
  }
  issue(number: number): Issue {
    return found(this.state.issues, number)
  }
  labelIssue(number: number, ...labels: string[]): void {
    const issue = this.issue(number)
    this.state.setIssueLabels(issue, [...issue.labels, ...labels], 'ann')
  }
  editIssue(number: number, texts: { title?: string; body?: string }): void {
    this.state.editIssue(this.issue(number), texts, 'ann')
  }
  closeIssue(number: number, reason: 'completed' | 'not_planned' = 'completed'): void {
    this.state.setIssueState(this.issue(number), 'closed', reason, 'ann')
  }
  reopenIssue(number: number): void {
    this.state.setIssueState(this.issue(number), 'open', 'reopened', 'ann')
  }

  /** The request in its current state; without a number the newest. */
  pull(number?: number): Pull {
    this.state.refresh('ann')
    return number === undefined ? this.state.pulls.at(-1)! : found(this.state.pulls, number)
  }
  openPull(input: Partial<Pick<Pull, 'title' | 'body' | 'author' | 'base' | 'draft'>> & { head: string }): Pull {
    const { head, title = head, draft = false } = input
    const prefix = draft ? draftPrefixes[this.options.kind] : ''
    const usual = { body: '', author: 'ann', base: this.repository.defaultBranch }
    return this.state.openPull({ ...usual, ...input, title: `${prefix}${title}`, draft })
  }
  closePull(number: number): void {
    this.state.editPull(this.pull(number), { state: 'closed' }, 'ann')
  }
  reopenPull(number: number): void {
    this.state.editPull(this.pull(number), { state: 'open' }, 'ann')
  }
  markReady(number: number): void {
    const pull = this.pull(number)
    this.state.editPull(pull, { draft: false, title: pull.title.replace(draftPrefixes[this.options.kind], '') }, 'ann')
  }
  /** Sets the requirements for merging a request. */
  protect(protection: Partial<Protection>): void {
    Object.assign(this.state.protection, protection)
  }

  /** A check of a commit: a new run if the last one has ended, so that 'queued' restarts a check. */
  setCheck(
    commit: string,
    name: string,
    state: CheckState,
    log?: string,
    more: Partial<Pick<Check, 'kind' | 'url' | 'description'>> = {},
  ): Check {
    return this.state.setCheck(commit, name, state, { ...more, ...(log !== undefined && { log }) })
  }
  review(
    number: number,
    author: string,
    state: 'approved' | 'changes_requested' | 'commented',
    comments: NewLineComment[] = [],
    body = '',
  ): Review {
    const pull = this.pull(number)
    // On GitLab the body of a review is an ordinary comment.
    if (this.state.isGitLab && body !== '') this.state.comment(pull, author, body)
    return this.state.review(pull, { author, state, body: this.state.isGitLab ? '' : body, comments })
  }
  approve(number: number, author = 'ann'): Review {
    return this.review(number, author, 'approved')
  }
  /** A comment on an issue or a request. */
  comment(
    number: number,
    body: string,
    { author = 'ann', on }: { author?: string; on?: 'issue' | 'pull' } = {},
  ): Comment {
    const among =
      on === 'issue'
        ? this.state.issues
        : on === 'pull'
          ? this.state.pulls
          : [...this.state.pulls, ...this.state.issues]
    return this.state.comment(found<Issue | Pull>(among, number), author, body)
  }
  editComment(id: number, body: string): void {
    this.state.editComment(
      this.state.comments.find(each => each.id === id)!,
      body,
      'ann',
    )
  }
  /** Another user's reply to a comment on a line. */
  reply(commentId: number, body: string, author = 'ann'): void {
    this.state.reply(
      this.state.lineComments.find(({ id }) => id === commentId)!,
      author,
      body,
    )
  }

  /** A user merges with the forge's button. */
  mergeByHand(number: number, method: MergeMethod = 'merge'): string {
    return this.state.merge(this.pull(number), { method, actor: 'ann' })
  }
  squashByHand(number: number): string {
    return this.mergeByHand(number, 'squash')
  }
  /** A user adds the work of a request to its base as one commit with equal changes, and closes the request. @returns that commit */
  squashElsewhere(number: number): string {
    const pull = this.pull(number)
    const commit = this.repository.merge(pull.base, pull.headSha, 'squash', `Take over ${pull.title}`)
    this.closePull(number)
    return commit
  }
  /** Another user pushes a commit with these files. */
  push(branch: string, files: Record<string, string>, message = 'Change by hand'): string {
    const commit = this.repository.write(branch, files, message)
    this.state.refresh('ann')
    return commit
  }
  /** Another user replaces a branch by one commit on its base. */
  forcePush(branch: string, files: Record<string, string> = { forced: 'forced\n' }): string {
    const commit = this.repository.write(
      branch,
      files,
      'Begin anew',
      this.repository.tip(this.repository.defaultBranch),
    )
    this.state.refresh('ann')
    return commit
  }
  deleteBranch(branch: string): void {
    this.state.deleteBranch(branch, 'ann')
  }

  fail(fault: Fault): void {
    this.#server.faults.add(fault)
  }
  behave(): void {
    this.#server.faults.clear()
  }

  /** Sends later events to this address; with `hold` only through `deliver`. */
  webhookTo(url: string, secret: string, { hold = false } = {}): void {
    this.#webhook = { url, secret }
    this.#holds = hold
  }
  /** Sends these deliveries, by default the held ones, in this order. @returns the response statuses */
  async deliver(
    deliveries: readonly Delivery[] = this.held.splice(0),
    options: DeliverOptions = {},
  ): Promise<number[]> {
    const statuses: number[] = []
    for (const delivery of deliveries)
      for (let count = 0; count < (options.times ?? 1); count++) statuses.push(await this.#send(delivery, options))
    return statuses
  }
  /** Waits until all immediate deliveries are sent. */
  async delivered(): Promise<void> {
    await this.#sending
  }

  async close(): Promise<void> {
    this.#webhook = undefined
    await Promise.all([this.#server.close(), closeServer(this.#storage)])
    await this.#sending
  }

  #changed(change: Change): void {
    const told = this.#wire?.event(change)
    if (!told) return
    const delivery = { id: randomUUID(), event: told.name, body: JSON.stringify(told.body) }
    this.deliveries.push(delivery)
    if (!this.#webhook) return
    if (this.#holds) this.held.push(delivery)
    else this.#sending = this.#sending.then(() => this.#send(delivery, {})).then(() => undefined)
  }

  /** An offline receiver counts as status 0: a forge records it and continues. */
  async #send({ event, id, body }: Delivery, options: DeliverOptions): Promise<number> {
    if (!this.#webhook) return 0
    const { url, secret } = this.#webhook
    const headers = this.#wire.sign(event, id, body, options.secret ?? secret)
    if (options.secret === '')
      for (const name of Object.keys(headers)) if (/signature|token/.test(name)) delete headers[name]
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: options.body ?? body,
    }).catch(() => undefined)
    await response?.arrayBuffer()
    return response?.status ?? 0
  }
}

function found<T extends { number: number }>(among: readonly T[], number: number): T {
  const record = among.find(each => each.number === number)
  if (!record) throw new Error(`The forge has no ${number}.`)
  return record
}
