import type { BareRepository } from './bareRepository.ts'
import { noCommit } from './bareRepository.ts'
import type {
  Account,
  Change,
  Check,
  CheckState,
  Comment,
  Issue,
  LineComment,
  MergeMethod,
  Protection,
  Pull,
  Review,
} from './model.ts'

/** The reason why a forge rejects a request. */
export class Refused extends Error {
  readonly status: number
  readonly details: Record<string, unknown> | undefined

  constructor(status: number, message: string, details?: Record<string, unknown>) {
    super(message)
    this.status = status
    this.details = details
  }
}

/** The reason why a request cannot be merged now, or undefined. */
export type Obstacle =
  | 'closed'
  | 'draft'
  | 'unknown'
  | 'conflict'
  | 'changes_requested'
  | 'approvals'
  | 'checks_failed'
  | 'checks_pending'

/** The records of one repository on a forge, over its real Git repository, and the rules for changing them. */
export class ForgeState {
  /** Accounts that can comment here, but not write: their verdicts do not count. */
  readonly outsiders = new Set<string>()
  readonly repository: BareRepository
  /** GitLab numbers issues and requests separately, and an answer to a comment is not a review. */
  readonly isGitLab: boolean
  readonly changed: (change: Change) => void
  readonly accounts = new Map<string, Account>()
  readonly issues: Issue[] = []
  readonly pulls: Pull[] = []
  readonly comments: Comment[] = []
  readonly reviews: Review[] = []
  readonly lineComments: LineComment[] = []
  readonly checks: Check[] = []
  /** The maximum number of reviewers of a request: one on the free GitLab. */
  maxReviewers = Infinity
  readonly labels = new Map<string, { id: number; name: string; color: string; description: string }>()
  readonly mergeMethods: Record<MergeMethod, boolean> = { merge: true, squash: true, rebase: true }
  protection: Protection = { approvals: 0, checks: [], dismissStale: false }
  /** How many responses do not know yet whether a new state of a request can be merged. */
  unknownFor = 0
  deleteMergedBranches = false
  #lastId = 1000
  #tips = new Map<string, string>()

  constructor(repository: BareRepository, isGitLab: boolean, changed: (change: Change) => void) {
    this.repository = repository
    this.isGitLab = isGitLab
    this.changed = changed
    this.#tips = this.#readTips()
  }

  /** Updates this state from the Git repository: detects pushes, and their effects on requests. */
  refresh(actor: string): void {
    const before = this.#tips
    this.#tips = this.#readTips()
    for (const branch of new Set([...before.keys(), ...this.#tips.keys()])) {
      const [was, is] = [before.get(branch) ?? noCommit, this.#tips.get(branch) ?? noCommit]
      if (was !== is) this.changed({ kind: 'push', branch, before: was, after: is, actor })
    }
    for (const pull of this.pulls.filter(({ state }) => state === 'open')) this.#follow(pull, actor)
  }

  #follow(pull: Pull, actor: string): void {
    const [head, base] = [this.#tips.get(pull.head), this.#tips.get(pull.base)]
    const isIn = base !== undefined && this.repository.contains(base, head ?? pull.headSha)
    // A request without changes does not count as merged.
    if (isIn && !this.repository.contains(pull.openedOn, head ?? pull.headSha)) {
      if (head !== undefined) pull.headSha = head
      return this.#merged(pull, base, actor)
    }
    if (head === undefined) {
      this.#touch(pull, { state: 'closed', closedAt: this.now() })
      return this.changed({ kind: 'pull', action: 'closed', pull, actor })
    }
    if (base !== undefined && base !== pull.baseSha) {
      pull.baseSha = base
      pull.unknownFor = this.unknownFor
    }
    if (head === pull.headSha) return this.#mergeIfWanted(pull)
    const before = pull.headSha
    this.#touch(pull, { headSha: head, unknownFor: this.unknownFor })
    if (this.protection.dismissStale)
      for (const review of this.reviews)
        if (review.number === pull.number && review.state === 'approved') review.state = 'dismissed'
    this.changed({ kind: 'pull', action: 'synchronize', pull, before, actor })
  }

  #mergeIfWanted(pull: Pull): void {
    if (pull.autoMerge && this.obstacle(pull) === undefined)
      this.merge(pull, { method: pull.autoMerge, actor: pull.author })
  }

  openPull(input: Pick<Pull, 'title' | 'body' | 'author' | 'head' | 'base' | 'draft'>): Pull {
    const [headSha, baseSha] = [this.repository.tip(input.head)!, this.repository.tip(input.base)!]
    const now = this.now()
    const pull: Pull = {
      ...input,
      ...this.#named(this.pulls),
      headSha,
      baseSha,
      openedOn: baseSha,
      state: 'open',
      labels: [],
      reviewers: [],
      mergeCommit: null,
      mergedBy: null,
      mergedAs: null,
      autoMerge: null,
      createdAt: now,
      updatedAt: now,
      closedAt: null,
      unknownFor: this.unknownFor,
    }
    this.pulls.push(pull)
    this.changed({ kind: 'pull', action: 'opened', pull, actor: pull.author })
    return pull
  }

  editPull(
    pull: Pull,
    changes: Partial<Pick<Pull, 'title' | 'body' | 'base' | 'draft' | 'state'>>,
    actor: string,
  ): void {
    const { state, draft, ...texts } = changes
    if (Object.entries(texts).some(([name, value]) => pull[name as 'title'] !== value)) {
      this.#touch(pull, texts)
      this.changed({ kind: 'pull', action: 'edited', pull, actor })
    }
    if (draft !== undefined && draft !== pull.draft) {
      this.#touch(pull, { draft })
      this.changed({ kind: 'pull', action: draft ? 'draft' : 'ready', pull, actor })
    }
    if (state !== undefined && state !== pull.state && pull.state !== 'merged') {
      this.#touch(pull, { state, closedAt: state === 'closed' ? this.now() : null })
      this.changed({ kind: 'pull', action: state === 'closed' ? 'closed' : 'reopened', pull, actor })
    }
  }

  /** The reason why a request cannot be merged. */
  obstacle(pull: Pull): Obstacle | undefined {
    if (pull.state !== 'open') return 'closed'
    if (pull.draft) return 'draft'
    if (pull.unknownFor > 0) return 'unknown'
    if (!this.repository.mergeable(pull.baseSha, pull.headSha)) return 'conflict'
    const verdicts = this.verdicts(pull)
    if (this.protection.approvals > 0 && verdicts.includes('changes_requested')) return 'changes_requested'
    if (verdicts.filter(each => each === 'approved').length < this.protection.approvals) return 'approvals'
    const required = this.latestChecks(pull.headSha).filter(({ name }) => this.protection.checks.includes(name))
    if (required.some(({ state }) => state === 'failure' || state === 'cancelled')) return 'checks_failed'
    const passed = required.filter(({ state }) => state === 'success' || state === 'skipped')
    return passed.length < this.protection.checks.length ? 'checks_pending' : undefined
  }

  /** The last effective verdict of each reviewer. */
  verdicts(pull: Pull): Review['state'][] {
    const last = new Map<string, Review['state']>()
    for (const { number, author, state } of this.reviews)
      if (number === pull.number && state !== 'commented') last.set(author, state)
    return [...last.values()]
  }

  latestChecks(commit: string): Check[] {
    return [...new Map(this.checks.filter(each => each.commit === commit).map(each => [each.name, each])).values()]
  }

  merge(
    pull: Pull,
    { method, message, actor }: { method: MergeMethod | 'ff'; message?: string; actor: string },
  ): string {
    const text =
      message ??
      (method === 'merge' ? `Merge request ${pull.number}: ${pull.title}` : `${pull.title} (#${pull.number})`)
    const commit = this.repository.merge(pull.base, pull.headSha, method, text)
    this.#tips = this.#readTips()
    this.changed({ kind: 'push', branch: pull.base, before: pull.baseSha, after: commit, actor })
    pull.mergedAs = method
    this.#merged(pull, commit, actor)
    if (this.deleteMergedBranches) this.deleteBranch(pull.head, actor)
    return commit
  }

  #merged(pull: Pull, commit: string, actor: string): void {
    this.#touch(pull, { state: 'merged', mergeCommit: commit, mergedBy: actor, closedAt: this.now() })
    this.changed({ kind: 'pull', action: 'merged', pull, actor })
    for (const [, number] of pull.body.matchAll(/\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):? #(\d+)/gi)) {
      const issue = this.issues.find(each => each.number === Number(number))
      if (issue && pull.base === this.repository.defaultBranch) this.setIssueState(issue, 'closed', 'completed', actor)
    }
  }

  deleteBranch(branch: string, actor: string): boolean {
    const done = this.repository.deleteBranch(branch)
    this.refresh(actor)
    return done
  }

  setPullLabels(pull: Pull, labels: string[], actor: string): void {
    this.#touch(pull, { labels: this.#known(labels) })
    this.changed({ kind: 'pull', action: 'labeled', pull, actor })
  }

  requestReviewers(pull: Pull, reviewers: string[], actor: string): void {
    this.#touch(pull, { reviewers: [...new Set(reviewers)] })
    this.changed({ kind: 'pull', action: 'review_requested', pull, actor })
  }

  openIssue(input: { title: string; body: string; author: string; labels: string[] }): Issue {
    const now = this.now()
    const issue: Issue = {
      ...input,
      ...this.#named(this.issues),
      labels: this.#known(input.labels),
      state: 'open',
      reason: null,
      createdAt: now,
      updatedAt: now,
      closedAt: null,
    }
    this.issues.push(issue)
    this.changed({ kind: 'issue', action: 'opened', issue, actor: input.author })
    for (const label of issue.labels)
      this.changed({ kind: 'issue', action: 'labeled', issue, label, actor: input.author })
    return issue
  }

  editIssue(issue: Issue, texts: Partial<Pick<Issue, 'title' | 'body'>>, actor: string): void {
    this.#touch(issue, texts)
    this.changed({ kind: 'issue', action: 'edited', issue, actor })
  }

  setIssueState(issue: Issue, state: Issue['state'], reason: Issue['reason'], actor: string): void {
    if (issue.state === state) return
    this.#touch(issue, { state, reason, closedAt: state === 'closed' ? this.now() : null })
    this.changed({ kind: 'issue', action: state === 'closed' ? 'closed' : 'reopened', issue, actor })
  }

  setIssueLabels(issue: Issue, labels: string[], actor: string): void {
    const before = issue.labels
    this.#touch(issue, { labels: this.#known(labels) })
    for (const label of issue.labels.filter(each => !before.includes(each)))
      this.changed({ kind: 'issue', action: 'labeled', issue, label, actor })
    for (const label of before.filter(each => !issue.labels.includes(each)))
      this.changed({ kind: 'issue', action: 'unlabeled', issue, label, actor })
  }

  comment(on: Issue | Pull, author: string, body: string): Comment {
    const now = this.now()
    const comment = {
      id: this.nextId(),
      number: on.number,
      onPull: 'head' in on,
      author,
      body,
      createdAt: now,
      updatedAt: now,
    }
    this.comments.push(comment)
    this.#touch<Issue | Pull>(on, {})
    this.changed({ kind: 'comment', action: 'created', comment, actor: author })
    return comment
  }

  editComment(comment: Comment, body: string, actor: string): void {
    this.#touch(comment, { body })
    this.changed({ kind: 'comment', action: 'edited', comment, actor })
  }

  deleteComment(comment: Comment, actor: string): void {
    this.comments.splice(this.comments.indexOf(comment), 1)
    this.changed({ kind: 'comment', action: 'deleted', comment, actor })
  }

  review(
    pull: Pull,
    {
      author,
      state,
      body = '',
      comments = [],
    }: { author: string; state: Review['state']; body?: string; comments?: NewLineComment[] },
  ): Review {
    const review = {
      id: this.nextId(),
      number: pull.number,
      author,
      state,
      body,
      commit: pull.headSha,
      submittedAt: this.now(),
    }
    this.reviews.push(review)
    this.#touch(pull, { reviewers: pull.reviewers.filter(each => each !== author) })
    this.changed({ kind: 'review', review, actor: author })
    for (const comment of comments) this.#lineComment(review, comment)
    return review
  }

  #lineComment(review: Review, { path, line, startLine = null, side = 'RIGHT', body }: NewLineComment): LineComment {
    const id = this.nextId()
    const comment: LineComment = {
      id,
      number: review.number,
      reviewId: review.id,
      thread: id.toString(16).padStart(40, '0'),
      inReplyTo: null,
      path,
      line,
      startLine,
      side,
      commit: review.commit,
      author: review.author,
      body,
      resolved: false,
      createdAt: review.submittedAt,
      updatedAt: review.submittedAt,
    }
    this.lineComments.push(comment)
    this.changed({ kind: 'line', comment, actor: comment.author })
    return comment
  }

  /** A reply to a comment on a line; on GitHub and Gitea each reply is a separate review. */
  reply(to: LineComment, author: string, body: string): LineComment {
    const pull = this.pulls.find(({ number }) => number === to.number)!
    const now = this.now()
    const reviewId = this.isGitLab ? to.reviewId : this.nextId()
    if (!this.isGitLab)
      this.reviews.push({
        id: reviewId,
        number: to.number,
        author,
        state: 'commented',
        body: '',
        commit: pull.headSha,
        submittedAt: now,
      })
    const answer = {
      ...to,
      id: this.nextId(),
      reviewId,
      inReplyTo: to.inReplyTo ?? to.id,
      author,
      body,
      createdAt: now,
      updatedAt: now,
    }
    this.lineComments.push(answer)
    this.#touch(pull, {})
    this.changed({ kind: 'line', comment: answer, actor: author })
    return answer
  }

  /** A review's comment on a line; if the line has a comment already, it joins that thread. */
  commentOnLine(review: Review, input: NewLineComment): LineComment {
    const { path, line, side = 'RIGHT' } = input
    const there = this.lineComments.find(
      each => each.number === review.number && each.path === path && each.line === line && each.side === side,
    )
    const made = this.#lineComment(review, input)
    if (there) Object.assign(made, { thread: there.thread, inReplyTo: there.inReplyTo ?? there.id })
    return made
  }

  resolve(thread: string, resolved: boolean): void {
    for (const comment of this.lineComments) if (comment.thread === thread) comment.resolved = resolved
  }

  /** Whether the line of a comment is unchanged. */
  isCurrent(comment: LineComment): boolean {
    const pull = this.pulls.find(({ number }) => number === comment.number)!
    const line = (commit: string) => this.repository.line(commit, comment.path, comment.line)
    return pull.headSha === comment.commit || line(pull.headSha) === line(comment.commit)
  }

  /** A new run of a check, or another state of the one that has not ended. */
  setCheck(
    commit: string,
    name: string,
    state: CheckState,
    more: Partial<Pick<Check, 'log' | 'kind' | 'url' | 'description'>> = {},
  ): Check {
    const last = this.checks.filter(each => each.commit === commit && each.name === name).at(-1)
    const now = this.now()
    const running = last && (last.state === 'queued' || last.state === 'running') ? last : undefined
    const check: Check = running ?? {
      id: this.nextId(),
      runId: this.checks.find(each => each.commit === commit)?.runId ?? this.nextId(),
      commit,
      name,
      state,
      log: '',
      kind: 'run',
      url: null,
      description: null,
      createdAt: now,
      updatedAt: now,
    }
    if (!running) this.checks.push(check)
    Object.assign(check, { ...more, state, updatedAt: now })
    this.changed({ kind: 'check', check, actor: 'ci' })
    for (const pull of this.pulls) if (pull.state === 'open' && pull.headSha === commit) this.#mergeIfWanted(pull)
    return check
  }

  account(login: string): Account {
    const known = this.accounts.get(login)
    if (known) return known
    const made = { id: this.nextId(), login }
    this.accounts.set(login, made)
    return made
  }

  nextId(): number {
    return ++this.#lastId
  }

  /** In whole seconds, like forges report it, so that several events share one time. */
  now(): number {
    return Math.floor(Date.now() / 1000) * 1000
  }

  #named(among: { number: number }[]): { id: number; number: number } {
    const all = this.isGitLab ? among : [...this.issues, ...this.pulls]
    return { id: this.nextId(), number: Math.max(0, ...all.map(({ number }) => number)) + 1 }
  }

  #known(labels: string[]): string[] {
    for (const name of labels)
      if (!this.labels.has(name)) this.labels.set(name, { id: this.nextId(), name, color: 'ededed', description: '' })
    return [...new Set(labels)]
  }

  #touch<T extends Issue | Pull | Comment>(record: T, changes: Partial<T>): void {
    Object.assign(record, changes, { updatedAt: this.now() })
  }

  #readTips(): Map<string, string> {
    return new Map(
      this.repository
        .git('for-each-ref', '--format=%(refname:lstrip=2) %(objectname)', 'refs/heads')
        .split('\n')
        .filter(Boolean)
        .map(line => line.split(' ') as [string, string]),
    )
  }
}

export interface NewLineComment {
  path: string
  line: number
  startLine?: number | null
  side?: 'LEFT' | 'RIGHT'
  body: string
}
