import { createHmac } from 'node:crypto'
import { Refused, type ForgeState } from './forgeState.ts'
import { gitHubChecks } from './githubChecks.ts'
import { gitHubEvents } from './githubEvents.ts'
import { gitHubGraph } from './githubGraph.ts'
import { GitHubRecords } from './githubRecords.ts'
import type { Issue, MergeMethod, Pull } from './model.ts'
import { linkHeader, type Answer, type Call, type MakeWire, type Routes } from './wire.ts'

const documentation = 'https://docs.github.com/rest'
const repo = '/repos/:owner/:repo'

/** GitHub's REST API of version 2022-11-28, which GitHub Enterprise Server has below /api/v3 and api.github.com at its root. */
export const gitHub: MakeWire = (state, place, storageToken) => {
  const records = new GitHubRecords(state, place)
  return {
    prefixes: ['/api/v3', ''],
    routes: {
      'GET /user': ({ actor }) => ({ body: { ...records.user(actor), name: null, email: null } }),
      [`GET ${repo}`]: () => ({ body: records.repository() }),
      ...pullRoutes(state, records),
      ...reviewRoutes(state, records),
      ...issueRoutes(state, records),
      ...gitHubChecks(state, records, storageToken),
      ...branchRoutes(state, records),
      ...gitHubGraph(state),
    },
    token: ({ authorization }) => /^(?:Bearer|token) (\S+)$/i.exec(authorization ?? '')?.[1],
    refusal: (status, message, details) => ({
      message,
      ...details,
      documentation_url: documentation,
      status: `${status}`,
    }),
    pages: { size: 'per_page', usual: 30, maxSize: 100 },
    pageHeaders: linkHeader,
    rateHeaders: (limit, remaining, resetAt) => ({
      'x-ratelimit-limit': `${limit}`,
      'x-ratelimit-remaining': `${remaining}`,
      'x-ratelimit-used': `${limit - remaining}`,
      'x-ratelimit-reset': `${resetAt}`,
      'x-ratelimit-resource': 'core',
      'x-github-api-version-selected': '2022-11-28',
    }),
    conditional: true,
    limited: (kind, seconds) => ({
      status: 403,
      headers:
        kind === 'secondary'
          ? ({ 'retry-after': `${seconds}` } as Record<string, string>)
          : { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${Math.ceil(Date.now() / 1000) + seconds}` },
      body: {
        message:
          kind === 'secondary'
            ? 'You have exceeded a secondary rate limit. Please wait a few minutes before you try again.'
            : 'API rate limit exceeded for user ID 1.',
        documentation_url: documentation,
        status: '403',
      },
    }),
    event: gitHubEvents(state, records),
    sign: (event, id, body, secret) => ({
      'user-agent': 'GitHub-Hookshot/044aadd',
      'x-github-event': event,
      'x-github-delivery': id,
      'x-github-hook-id': '1',
      'x-github-hook-installation-target-type': 'repository',
      'x-hub-signature': `sha1=${createHmac('sha1', secret).update(body).digest('hex')}`,
      'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    }),
  }
}

const invalid = (resource: string, error: Record<string, string>) =>
  new Refused(422, 'Validation Failed', { errors: [{ resource, ...error }] })
const text = (value: unknown): string => (typeof value === 'string' ? value : '')

function pullOf(state: ForgeState, { params }: Call): Pull {
  const found = state.pulls.find(({ number }) => `${number}` === params.number)
  if (!found) throw new Refused(404, 'Not Found')
  return found
}

function pullRoutes(state: ForgeState, records: GitHubRecords): Routes {
  const of = (call: Call) => pullOf(state, call)
  return {
    [`GET ${repo}/pulls`]: ({ query }) => {
      const [wanted, head, base] = [query.get('state') ?? 'open', query.get('head'), query.get('base')]
      const found = state.pulls.filter(
        pull =>
          (wanted === 'all' || (pull.state === 'open') === (wanted === 'open')) &&
          (head === null || !head.includes(':') || head === `${records.place.owner}:${pull.head}`) &&
          (base === null || base === pull.base),
      )
      const sorted = found.sort((a, b) =>
        query.get('sort') === 'updated' ? b.updatedAt - a.updatedAt : b.number - a.number,
      )
      if (query.get('direction') === 'asc') sorted.reverse()
      return { list: sorted.map(pull => records.pullSimple(pull)) }
    },
    [`POST ${repo}/pulls`]: call => ({ status: 201, body: records.pull(createPull(state, records, call)) }),
    [`GET ${repo}/pulls/:number`]: call => {
      const pull = of(call)
      const body = records.pull(pull)
      if (pull.unknownFor > 0) pull.unknownFor--
      return { body }
    },
    [`PATCH ${repo}/pulls/:number`]: call => {
      const { body, actor } = call
      const [pull, changes] = [of(call), { ...body }]
      if (changes.state !== undefined && !['open', 'closed'].includes(changes.state as string))
        throw invalid('PullRequest', { field: 'state', code: 'invalid' })
      if (changes.state === 'open' && state.repository.tip(pull.head) === undefined)
        throw invalid('PullRequest', {
          field: 'state',
          code: 'invalid',
          message: 'state cannot be changed. The branch has been deleted.',
        })
      if (changes.base !== undefined && state.repository.tip(changes.base as string) === undefined)
        throw invalid('PullRequest', { field: 'base', code: 'invalid' })
      if (changes.body === null) changes.body = ''
      const known = Object.entries(changes).filter(([name]) => ['title', 'body', 'state', 'base'].includes(name))
      state.editPull(pull, Object.fromEntries(known), actor)
      return { body: records.pull(pull) }
    },
    [`GET ${repo}/pulls/:number/commits`]: call => ({
      list: state.repository
        .commits(of(call).baseSha, of(call).headSha)
        .map(({ sha, message, author, email, date }) => ({
          sha,
          commit: { message, author: { name: author, email, date }, committer: { name: author, email, date } },
          parents: [],
        })),
    }),
    [`GET ${repo}/pulls/:number/files`]: call => ({
      list: state.repository.files(of(call).baseSha, of(call).headSha).map(({ path, ...file }) => ({
        sha: state.repository.blob(of(call).headSha, path),
        blob_url: `${records.page}/blob/${of(call).headSha}/${path}`,
        raw_url: `${records.page}/raw/${of(call).headSha}/${path}`,
        contents_url: `${records.repo}/contents/${path}?ref=${of(call).headSha}`,
        filename: path,
        ...file,
        changes: file.additions + file.deletions,
      })),
    }),
    [`GET ${repo}/pulls/:number/merge`]: call => {
      if (of(call).state !== 'merged') throw new Refused(404, 'Not Found')
      return { status: 204 }
    },
    [`PUT ${repo}/pulls/:number/merge`]: call => mergePull(state, of(call), call),
    [`GET ${repo}/pulls/:number/requested_reviewers`]: call => ({
      body: { users: of(call).reviewers.map(login => records.user(login)), teams: [] },
    }),
    [`POST ${repo}/pulls/:number/requested_reviewers`]: call => {
      const pull = of(call)
      const wanted = (call.body.reviewers ?? []) as string[]
      if (wanted.includes(pull.author)) throw new Refused(422, 'Review cannot be requested from pull request author.')
      if (wanted.some(login => !state.accounts.has(login)))
        throw new Refused(
          422,
          'Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator of the repository.',
        )
      state.requestReviewers(pull, [...pull.reviewers, ...wanted], call.actor)
      return { status: 201, body: records.pullSimple(pull) }
    },
    [`DELETE ${repo}/pulls/:number/requested_reviewers`]: call => {
      const pull = of(call)
      const { reviewers } = call.body as { reviewers?: string[] }
      if (!reviewers) throw new Refused(422, 'Invalid request. "reviewers" wasn\'t supplied.')
      state.requestReviewers(
        pull,
        pull.reviewers.filter(each => !reviewers.includes(each)),
        call.actor,
      )
      return { body: records.pullSimple(pull) }
    },
  }
}

function createPull(state: ForgeState, records: GitHubRecords, { body, actor }: Call): Pull {
  const [head, base] = [text(body.head).replace(`${records.place.owner}:`, ''), text(body.base)]
  if (text(body.title).trim() === '') throw invalid('PullRequest', { field: 'title', code: 'missing_field' })
  if (text(body.title).length > 256)
    throw invalid('PullRequest', {
      field: 'title',
      code: 'custom',
      message: 'title is too long (maximum is 256 characters)',
    })
  if (text(body.body).length > 65_536)
    throw invalid('PullRequest', {
      field: 'body',
      code: 'custom',
      message: 'body is too long (maximum is 65536 characters)',
    })
  for (const [field, branch] of Object.entries({ head, base }))
    if (state.repository.tip(branch) === undefined) throw invalid('PullRequest', { field, code: 'invalid' })
  if (state.pulls.some(each => each.state === 'open' && each.head === head && each.base === base))
    throw invalid('PullRequest', {
      code: 'custom',
      message: `A pull request already exists for ${records.place.owner}:${head}.`,
    })
  if (state.repository.contains(state.repository.tip(base)!, state.repository.tip(head)!))
    throw invalid('PullRequest', { code: 'custom', message: `No commits between ${base} and ${head}` })
  return state.openPull({
    title: text(body.title),
    body: text(body.body),
    author: actor,
    head,
    base,
    draft: body.draft === true,
  })
}

function mergePull(state: ForgeState, pull: Pull, { body, actor }: Call): Answer {
  const method = (body.merge_method ?? 'merge') as MergeMethod
  if (body.sha !== undefined && body.sha !== pull.headSha)
    throw new Refused(409, 'Head branch was modified. Review and try the merge again.')
  const obstacle = state.obstacle(pull)
  if (obstacle === 'draft') throw new Refused(405, 'Pull Request is still a draft')
  if (obstacle === 'approvals')
    throw new Refused(
      405,
      `At least ${state.protection.approvals} approving review is required by reviewers with write access.`,
    )
  if (obstacle === 'changes_requested') throw new Refused(405, 'Changes have been requested.')
  if (obstacle === 'checks_failed' || obstacle === 'checks_pending')
    throw new Refused(
      405,
      `${state.protection.checks.length} of ${state.protection.checks.length} required status checks have not succeeded.`,
    )
  if (obstacle) throw new Refused(405, 'Pull Request is not mergeable')
  if (!state.mergeMethods[method])
    throw new Refused(
      405,
      `${method === 'squash' ? 'Squash' : method === 'rebase' ? 'Rebase' : 'Merge'} merges are not allowed on this repository.`,
    )
  const [title, more] = [text(body.commit_title), text(body.commit_message)]
  const message = title === '' ? undefined : more === '' ? title : `${title}\n\n${more}`
  const sha = state.merge(pull, { method, message, actor })
  return { body: { sha, merged: true, message: 'Pull Request successfully merged' } }
}

function reviewRoutes(state: ForgeState, records: GitHubRecords): Routes {
  const of = (call: Call) => pullOf(state, call)
  const lines = (call: Call) => state.lineComments.filter(({ number }) => number === of(call).number)
  const reply = (call: Call, id: unknown): Answer => {
    const to = lines(call).find(comment => comment.id === Number(id))
    if (!to) throw new Refused(404, 'Not Found')
    if (to.inReplyTo !== null) throw new Refused(422, 'Replies to replies are not supported')
    if (text(call.body.body) === '') throw invalid('PullRequestReviewComment', { field: 'body', code: 'missing_field' })
    return { status: 201, body: records.lineComment(state.reply(to, call.actor, text(call.body.body))) }
  }
  return {
    [`GET ${repo}/pulls/:number/reviews`]: call => ({
      list: state.reviews.filter(({ number }) => number === of(call).number).map(review => records.review(review)),
    }),
    [`GET ${repo}/pulls/:number/reviews/:review/comments`]: call => ({
      list: lines(call)
        .filter(({ reviewId }) => `${reviewId}` === call.params.review)
        .map(comment => records.lineComment(comment)),
    }),
    [`GET ${repo}/pulls/:number/comments`]: call => ({
      list: lines(call)
        .filter(({ updatedAt }) => updatedAt >= since(call))
        .map(comment => records.lineComment(comment)),
    }),
    [`POST ${repo}/pulls/:number/comments`]: call => {
      if (call.body.in_reply_to !== undefined) return reply(call, call.body.in_reply_to)
      throw invalid('PullRequestReviewComment', { field: 'in_reply_to', code: 'missing_field' })
    },
    [`POST ${repo}/pulls/:number/comments/:comment/replies`]: call => reply(call, call.params.comment),
  }
}

const since = ({ query }: Call): number => (query.has('since') ? Date.parse(query.get('since')!) : 0)

function issueRoutes(state: ForgeState, records: GitHubRecords): Routes {
  /** Each request is also an issue. */
  const all = (): (Issue | Pull)[] => [...state.issues, ...state.pulls]
  const of = ({ params }: Call): Issue | Pull => {
    const found = all().find(({ number }) => `${number}` === params.number)
    if (!found) throw new Refused(404, 'Not Found')
    return found
  }
  const relabel = (call: Call, change: (labels: string[]) => string[]): Answer => {
    const issue = of(call)
    if ('head' in issue) state.setPullLabels(issue, change(issue.labels), call.actor)
    else state.setIssueLabels(issue, change(issue.labels), call.actor)
    return { list: issue.labels.map(name => records.label(name)) }
  }
  const named = ({ body }: Call) =>
    ((body.labels ?? []) as (string | { name: string })[]).map(each => (typeof each === 'string' ? each : each.name))
  const commentOf = ({ params }: Call) => {
    const found = state.comments.find(({ id }) => `${id}` === params.comment)
    if (!found) throw new Refused(404, 'Not Found')
    return found
  }
  return {
    [`GET ${repo}/issues`]: call => ({ list: listIssues(all(), call).map(issue => records.issue(issue)) }),
    [`POST ${repo}/issues`]: ({ body, actor, ...call }) => ({
      status: 201,
      body: records.issue(
        state.openIssue({
          title: text(body.title),
          body: text(body.body),
          author: actor,
          labels: named({ body, actor, ...call }),
        }),
      ),
    }),
    [`GET ${repo}/issues/:number`]: call => ({ body: records.issue(of(call)) }),
    [`PATCH ${repo}/issues/:number`]: call => {
      const [issue, { body, actor }] = [of(call), call]
      const wanted = body.state as Issue['state'] | undefined
      if ('head' in issue) state.editPull(issue, { ...(wanted && { state: wanted }) }, actor)
      else {
        const texts = Object.entries(body).filter(([name]) => name === 'title' || name === 'body')
        if (texts.length > 0) state.editIssue(issue, Object.fromEntries(texts), actor)
        if (wanted)
          state.setIssueState(issue, wanted, wanted === 'open' ? 'reopened' : (body.state_reason ?? 'completed'), actor)
      }
      if (body.labels !== undefined) relabel(call, () => named(call))
      return { body: records.issue(issue) }
    },
    [`GET ${repo}/issues/:number/comments`]: call => ({
      list: state.comments
        .filter(({ number, updatedAt }) => number === of(call).number && updatedAt >= since(call))
        .map(comment => records.comment(comment)),
    }),
    [`POST ${repo}/issues/:number/comments`]: call => {
      if (text(call.body.body) === '') throw invalid('IssueComment', { field: 'body', code: 'missing_field' })
      return { status: 201, body: records.comment(state.comment(of(call), call.actor, text(call.body.body))) }
    },
    [`GET ${repo}/issues/comments`]: call => ({
      list: state.comments.filter(({ updatedAt }) => updatedAt >= since(call)).map(comment => records.comment(comment)),
    }),
    [`PATCH ${repo}/issues/comments/:comment`]: call => {
      state.editComment(commentOf(call), text(call.body.body), call.actor)
      return { body: records.comment(commentOf(call)) }
    },
    [`DELETE ${repo}/issues/comments/:comment`]: call => {
      state.deleteComment(commentOf(call), call.actor)
      return { status: 204 }
    },
    [`POST ${repo}/issues/:number/labels`]: call => relabel(call, labels => [...labels, ...named(call)]),
    [`PUT ${repo}/issues/:number/labels`]: call => relabel(call, () => named(call)),
    [`DELETE ${repo}/issues/:number/labels/:label`]: call =>
      relabel(call, labels => labels.filter(each => each !== call.params.label)),
    [`GET ${repo}/labels`]: () => ({ list: [...state.labels.keys()].map(name => records.label(name)) }),
  }
}

function listIssues(all: (Issue | Pull)[], call: Call): (Issue | Pull)[] {
  const { query } = call
  const wanted = query.get('state') ?? 'open'
  const labels = (query.get('labels') ?? '').split(',').filter(Boolean)
  const by = query.get('sort') === 'updated' ? 'updatedAt' : 'createdAt'
  const found = all
    .filter(issue => wanted === 'all' || (issue.state === 'open') === (wanted === 'open'))
    .filter(issue => labels.every(label => issue.labels.includes(label)) && issue.updatedAt >= since(call))
    .sort((a, b) => b[by] - a[by] || b.number - a.number)
  return query.get('direction') === 'asc' ? found.reverse() : found
}

function branchRoutes(state: ForgeState, records: GitHubRecords): Routes {
  return {
    [`GET ${repo}/branches/:branch*`]: ({ params }) => {
      const sha = state.repository.tip(params.branch!)
      if (sha === undefined) throw new Refused(404, 'Branch not found')
      const { approvals, checks } = state.protection
      const url = `${records.repo}/branches/${params.branch!}`
      const protects = params.branch === state.repository.defaultBranch && (approvals > 0 || checks.length > 0)
      return {
        body: {
          name: params.branch,
          commit: { sha, url: `${records.repo}/commits/${sha}` },
          _links: { self: url, html: `${records.page}/tree/${params.branch!}` },
          protected: protects,
          protection: {
            enabled: protects,
            required_status_checks: { enforcement_level: 'everyone', contexts: checks },
          },
          protection_url: `${url}/protection`,
        },
      }
    },
    [`DELETE ${repo}/git/refs/heads/:branch*`]: ({ params, actor }) => {
      if (!state.deleteBranch(params.branch!, actor)) throw new Refused(422, 'Reference does not exist')
      return { status: 204 }
    },
    [`GET ${repo}/contents/:path*`]: ({ params, query }) => {
      const content = state.repository.read(query.get('ref') ?? state.repository.defaultBranch, params.path!)
      if (content === undefined) throw new Refused(404, 'Not Found')
      const url = `${records.repo}/contents/${params.path!}`
      return {
        body: {
          type: 'file',
          encoding: 'base64',
          size: Buffer.byteLength(content),
          name: params.path!.split('/').at(-1),
          path: params.path,
          content: Buffer.from(content).toString('base64'),
          sha: state.repository.git(
            'rev-parse',
            `${query.get('ref') ?? state.repository.defaultBranch}:${params.path!}`,
          ),
          url,
          git_url: null,
          html_url: `${records.page}/blob/${params.path!}`,
          download_url: null,
          _links: { self: url, git: null, html: null },
        },
      }
    },
  }
}
