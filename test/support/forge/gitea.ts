import { createHmac } from 'node:crypto'
import { Refused, type ForgeState } from './forgeState.ts'
import { giteaChecks } from './giteaChecks.ts'
import { giteaEvents } from './giteaEvents.ts'
import { draftTitle, GiteaRecords } from './giteaRecords.ts'
import type { Issue, MergeMethod, Pull } from './model.ts'
import { linkHeader, type Answer, type Call, type MakeWire, type Routes } from './wire.ts'

const repo = '/repos/:owner/:repo'
const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const missing = () => new Refused(404, "The target couldn't be found.", { errors: [] })

/** The REST API of version 1 of Gitea, which Forgejo also has. */
export const gitea: MakeWire = (state, place) => {
  const records = new GiteaRecords(state, place)
  return {
    prefixes: ['/api/v1'],
    routes: {
      'GET /user': ({ actor }) => ({ body: records.user(actor) }),
      [`GET ${repo}`]: () => ({ body: records.repository() }),
      [`GET ${repo}/labels`]: () => ({ list: [...state.labels.keys()].map(name => records.label(name)) }),
      ...pullRoutes(state, records),
      ...reviewRoutes(state, records),
      ...issueRoutes(state, records),
      ...giteaChecks(state, records),
      ...branchRoutes(state, records),
    },
    token: ({ authorization }) => /^(?:token|Bearer) (\S+)$/i.exec(authorization ?? '')?.[1],
    refusal: (_, message, details) => ({ message, url: `${place.url}/api/swagger`, ...details }),
    pages: { size: 'limit', usual: 30, maxSize: 50 },
    pageHeaders: page => ({
      ...linkHeader(page),
      'x-total-count': `${page.total}`,
      'access-control-expose-headers': 'Link, X-Total-Count',
    }),
    rateHeaders: () => ({}),
    conditional: false,
    // Gitea has no rate limits, but a proxy before it can have some.
    limited: (_, seconds) => ({
      status: 429,
      headers: { 'retry-after': `${seconds}` },
      body: '<html><h1>429 Too Many Requests</h1></html>',
    }),
    event: giteaEvents(state, records),
    sign: (event, id, body, secret) => {
      const [name, type] = event.split(' ') as [string, string?]
      const digest = createHmac('sha256', secret).update(body).digest('hex')
      return {
        'user-agent': 'Go-http-client/1.1',
        'x-gitea-delivery': id,
        'x-gitea-event': name,
        'x-gitea-event-type': type ?? name,
        'x-gitea-signature': digest,
        'x-gogs-delivery': id,
        'x-gogs-event': name,
        'x-gogs-event-type': type ?? name,
        'x-gogs-signature': digest,
        'x-github-delivery': id,
        'x-github-event': name,
        'x-github-event-type': type ?? name,
        'x-hub-signature': `sha1=${createHmac('sha1', secret).update(body).digest('hex')}`,
        'x-hub-signature-256': `sha256=${digest}`,
      }
    },
  }
}

function pullOf(state: ForgeState, { params }: Call): Pull {
  const found = state.pulls.find(({ number }) => `${number}` === params.index)
  if (!found) throw missing()
  return found
}

function pullRoutes(state: ForgeState, records: GiteaRecords): Routes {
  const of = (call: Call) => pullOf(state, call)
  return {
    [`GET ${repo}/pulls`]: ({ query }) => {
      const wanted = query.get('state') ?? 'open'
      const found = state.pulls.filter(pull => wanted === 'all' || (pull.state === 'open') === (wanted === 'open'))
      const by = query.get('sort') === 'recentupdate' ? 'updatedAt' : 'number'
      return { list: found.sort((a, b) => b[by] - a[by] || b.number - a.number).map(pull => records.pull(pull)) }
    },
    [`POST ${repo}/pulls`]: call => ({ status: 201, body: records.pull(createPull(state, call)) }),
    [`GET ${repo}/pulls/:index`]: call => {
      const body = records.pull(of(call))
      if (of(call).unknownFor > 0) of(call).unknownFor--
      return { body }
    },
    [`GET ${repo}/pulls/:base/:head*`]: ({ params }) => {
      const found = state.pulls.findLast(({ base, head }) => base === params.base && head === params.head)
      if (!found) throw missing()
      return { body: records.pull(found) }
    },
    [`PATCH ${repo}/pulls/:index`]: call => {
      const [pull, { body, actor }] = [of(call), call]
      if (body.base !== undefined && state.repository.tip(text(body.base)) === undefined) throw missing()
      state.editPull(
        pull,
        {
          ...(body.title !== undefined && { title: text(body.title), draft: draftTitle.test(text(body.title)) }),
          ...(body.body !== undefined && { body: text(body.body) }),
          ...(body.base !== undefined && { base: text(body.base) }),
          ...(body.state !== undefined && { state: body.state === 'closed' ? ('closed' as const) : ('open' as const) }),
        },
        actor,
      )
      return { status: 201, body: records.pull(pull) }
    },
    [`GET ${repo}/pulls/:index/merge`]: call => {
      if (of(call).state !== 'merged') throw missing()
      return { status: 204 }
    },
    [`POST ${repo}/pulls/:index/merge`]: call => mergePull(state, of(call), call),
    [`GET ${repo}/pulls/:index/files`]: call => ({
      list: state.repository
        .files(of(call).baseSha, of(call).headSha)
        .map(({ path, status, additions, deletions }) => ({
          filename: path,
          status: status === 'modified' ? 'changed' : status === 'removed' ? 'deleted' : status,
          additions,
          deletions,
          changes: additions + deletions,
          html_url: `${records.page}/src/commit/${of(call).headSha}/${path}`,
          contents_url: `${records.repo}/contents/${path}?ref=${of(call).headSha}`,
          raw_url: `${records.page}/raw/commit/${of(call).headSha}/${path}`,
        })),
    }),
    [`POST ${repo}/pulls/:index/requested_reviewers`]: call => {
      const wanted = (call.body.reviewers ?? []) as string[]
      const unknown = wanted.find(login => !state.accounts.has(login))
      if (unknown !== undefined) throw new Refused(404, `user does not exist [uid: 0, name: ${unknown}]`)
      if (wanted.includes(of(call).author)) throw new Refused(422, "poster of pr can't be reviewer")
      state.requestReviewers(of(call), [...of(call).reviewers, ...wanted], call.actor)
      return { status: 201, body: wanted.map(login => records.requestedReview(of(call), login)) }
    },
    [`DELETE ${repo}/pulls/:index/requested_reviewers`]: call => {
      const unwanted = (call.body.reviewers ?? []) as string[]
      const left = of(call).reviewers.filter(each => !unwanted.includes(each))
      state.requestReviewers(of(call), left, call.actor)
      return { status: 204 }
    },
  }
}

function createPull(state: ForgeState, { body, actor }: Call): Pull {
  const [head, base, title] = [text(body.head), text(body.base), text(body.title)]
  if (head === base) throw new Refused(422, 'Invalid PullRequest: There are no changes between the head and the base')
  for (const branch of [base, head]) if (state.repository.tip(branch) === undefined) throw missing()
  const there = state.pulls.find(each => each.state === 'open' && each.head === head && each.base === base)
  if (there)
    throw new Refused(
      409,
      `pull request already exists for these targets [id: ${there.id}, issue_id: ${there.id}, head_repo_id: 1, base_repo_id: 1, head_branch: ${head}, base_branch: ${base}]`,
    )
  return state.openPull({ title, body: text(body.body), author: actor, head, base, draft: draftTitle.test(title) })
}

function mergePull(state: ForgeState, pull: Pull, { body, actor }: Call): Answer {
  const method = text(body.Do) as MergeMethod
  if (!(method in state.mergeMethods)) throw new Refused(422, '[Do]: Required')
  if (pull.state === 'merged') throw new Refused(405, 'The PR is already merged')
  if (pull.state === 'closed') throw missing()
  const obstacle = state.obstacle(pull)
  if (obstacle === 'draft') throw new Refused(405, 'Work in progress PRs cannot be merged')
  if (obstacle === 'unknown' || obstacle === 'conflict') throw new Refused(405, 'Please try again later')
  if (obstacle === 'approvals' || obstacle === 'changes_requested')
    throw new Refused(405, 'Does not have enough approvals')
  if (obstacle) throw new Refused(405, 'Not all required status checks successful')
  if (text(body.head_commit_id) !== '' && body.head_commit_id !== pull.headSha)
    throw new Refused(409, 'head out of date')
  if (!state.mergeMethods[method]) throw new Refused(405, `Invalid merge style: ${method}`)
  const [title, more] = [text(body.MergeTitleField), text(body.MergeMessageField)]
  const message = title === '' ? undefined : more === '' ? title : `${title}\n\n${more}`
  state.merge(pull, { method, message, actor })
  if (body.delete_branch_after_merge === true) state.deleteBranch(pull.head, actor)
  return {}
}

function reviewRoutes(state: ForgeState, records: GiteaRecords): Routes {
  const of = (call: Call) => pullOf(state, call)
  const reviewOf = (call: Call) => {
    const found = state.reviews.find(({ id, number }) => `${id}` === call.params.id && number === of(call).number)
    if (!found) throw missing()
    return found
  }
  const events = { APPROVED: 'approved', REQUEST_CHANGES: 'changes_requested', COMMENT: 'commented' } as const
  return {
    [`GET ${repo}/pulls/:index/reviews`]: call => ({
      list: [
        ...state.reviews.filter(({ number }) => number === of(call).number).map(review => records.review(review)),
        ...of(call).reviewers.map(login => records.requestedReview(of(call), login)),
      ],
    }),
    [`GET ${repo}/pulls/:index/reviews/:id`]: call => ({ body: records.review(reviewOf(call)) }),
    [`GET ${repo}/pulls/:index/reviews/:id/comments`]: call => ({
      list: state.lineComments
        .filter(({ reviewId }) => reviewId === reviewOf(call).id)
        .map(each => records.lineComment(each)),
    }),
    [`POST ${repo}/pulls/:index/reviews`]: call => {
      const [pull, { body, actor }] = [of(call), call]
      const event = events[body.event as keyof typeof events]
      const comments = (body.comments ?? []) as {
        path: string
        body: string
        new_position?: number
        old_position?: number
      }[]
      if (event === undefined) throw new Refused(422, `unknown review event ${text(body.event)}`)
      if (event !== 'commented' && pull.author === actor)
        throw new Refused(422, `${event === 'approved' ? 'approve' : 'reject'} your own pull is not allowed`)
      if (event === 'commented' && text(body.body) === '' && comments.length === 0)
        throw new Refused(422, 'review event COMMENT requires a body or a comment')
      const review = state.review(pull, { author: actor, state: event, body: text(body.body) })
      for (const { path, body: said, new_position: line, old_position: old } of comments)
        state.commentOnLine(review, { path, body: said, line: line || old || 0, side: line ? 'RIGHT' : 'LEFT' })
      return { body: records.review(review) }
    },
  }
}

function issueRoutes(state: ForgeState, records: GiteaRecords): Routes {
  const all = (): (Issue | Pull)[] => [...state.issues, ...state.pulls]
  const of = ({ params }: Call): Issue | Pull => {
    const found = all().find(({ number }) => `${number}` === params.index)
    if (!found) throw missing()
    return found
  }
  const since = ({ query }: Call) => (query.has('since') ? Date.parse(query.get('since')!) : 0)
  const commentOf = ({ params }: Call) => {
    const found = state.comments.find(({ id }) => `${id}` === params.id)
    if (!found) throw missing()
    return found
  }
  /** Labels by their ids, or by their names; unknown ones are ignored. */
  const named = ({ body }: Call) =>
    ((body.labels ?? []) as (number | string)[]).flatMap(
      each => [...state.labels.values()].find(({ id, name }) => each === id || each === name)?.name ?? [],
    )
  const relabel = (call: Call, labels: string[]): Answer => {
    const issue = of(call)
    if ('head' in issue) state.setPullLabels(issue, labels, call.actor)
    else state.setIssueLabels(issue, labels, call.actor)
    return { body: issue.labels.map(name => records.label(name)) }
  }
  return {
    [`GET ${repo}/issues`]: call => ({
      list: listIssues(all(), call, since(call)).map(issue => records.issue(issue)),
    }),
    [`POST ${repo}/issues`]: call => ({
      status: 201,
      body: records.issue(
        state.openIssue({
          title: text(call.body.title),
          body: text(call.body.body),
          author: call.actor,
          labels: named(call),
        }),
      ),
    }),
    [`GET ${repo}/issues/:index`]: call => ({ body: records.issue(of(call)) }),
    [`PATCH ${repo}/issues/:index`]: call => {
      const [issue, { body, actor }] = [of(call), call]
      const wanted =
        body.state === undefined ? undefined : body.state === 'closed' ? ('closed' as const) : ('open' as const)
      if ('head' in issue) state.editPull(issue, { ...(wanted && { state: wanted }) }, actor)
      else {
        const texts = Object.entries(body).filter(([name]) => name === 'title' || name === 'body')
        if (texts.length > 0) state.editIssue(issue, Object.fromEntries(texts), actor)
        if (wanted) state.setIssueState(issue, wanted, wanted === 'closed' ? 'completed' : 'reopened', actor)
      }
      return { status: 201, body: records.issue(issue) }
    },
    [`GET ${repo}/issues/:index/comments`]: call => ({
      body: state.comments
        .filter(({ number, updatedAt }) => number === of(call).number && updatedAt >= since(call))
        .map(each => records.comment(each)),
    }),
    [`POST ${repo}/issues/:index/comments`]: call => {
      if (text(call.body.body) === '') throw new Refused(422, '[Body]: Required')
      return { status: 201, body: records.comment(state.comment(of(call), call.actor, text(call.body.body))) }
    },
    [`PATCH ${repo}/issues/comments/:id`]: call => {
      state.editComment(commentOf(call), text(call.body.body), call.actor)
      return { body: records.comment(commentOf(call)) }
    },
    [`DELETE ${repo}/issues/comments/:id`]: call => {
      state.deleteComment(commentOf(call), call.actor)
      return { status: 204 }
    },
    [`POST ${repo}/issues/:index/labels`]: call => relabel(call, [...of(call).labels, ...named(call)]),
    [`PUT ${repo}/issues/:index/labels`]: call => relabel(call, named(call)),
    [`DELETE ${repo}/issues/:index/labels/:id`]: call => {
      const label = [...state.labels.values()].find(({ id }) => `${id}` === call.params.id)
      if (!label) throw new Refused(422, `label does not exist [label_id: ${call.params.id}]`)
      const left = of(call).labels.filter(name => name !== label.name)
      relabel(call, left)
      return { status: 204 }
    },
  }
}

function listIssues(all: (Issue | Pull)[], { query }: Call, since: number): (Issue | Pull)[] {
  const [wanted, type] = [query.get('state') ?? 'open', query.get('type')]
  const labels = (query.get('labels') ?? '').split(',').filter(Boolean)
  const ofType = (issue: Issue | Pull) => type === null || type === '' || 'head' in issue === (type === 'pulls')
  return all
    .filter(issue => wanted === 'all' || (issue.state === 'open') === (wanted === 'open'))
    .filter(issue => ofType(issue) && labels.every(label => issue.labels.includes(label)) && issue.updatedAt >= since)
    .sort((a, b) => b.createdAt - a.createdAt || b.number - a.number)
}

function branchRoutes(state: ForgeState, records: GiteaRecords): Routes {
  return {
    [`GET ${repo}/branches/:branch*`]: ({ params }) => {
      const id = state.repository.tip(params.branch!)
      if (id === undefined) throw missing()
      const { approvals, checks } = state.protection
      const isProtected = params.branch === state.repository.defaultBranch && (approvals > 0 || checks.length > 0)
      return {
        body: {
          name: params.branch,
          commit: {
            id,
            message: '',
            url: `${records.page}/commit/${id}`,
            author: null,
            committer: null,
            verification: null,
            timestamp: new Date(0).toISOString(),
            added: null,
            removed: null,
            modified: null,
          },
          protected: isProtected,
          required_approvals: isProtected ? approvals : 0,
          enable_status_check: isProtected && checks.length > 0,
          status_check_contexts: isProtected ? checks.map(name => `*${name}*`) : [],
          user_can_push: !isProtected,
          user_can_merge: true,
          effective_branch_protection_name: isProtected ? params.branch : '',
        },
      }
    },
    [`DELETE ${repo}/branches/:branch*`]: ({ params, actor }) => {
      if (!state.deleteBranch(params.branch!, actor)) throw missing()
      return { status: 204 }
    },
    [`GET ${repo}/raw/:path*`]: ({ params, query }) => {
      const content = state.repository.read(query.get('ref') ?? state.repository.defaultBranch, params.path!)
      if (content === undefined) throw missing()
      return { body: content }
    },
  }
}
