import { Refused, type ForgeState } from './forgeState.ts'
import { gitLabEvents } from './gitlabEvents.ts'
import { draftTitle, GitLabRecords, threadOf } from './gitlabRecords.ts'
import { gitLabChecks } from './gitlabChecks.ts'
import type { Issue, Pull } from './model.ts'
import { linkHeader, type Answer, type Call, type MakeWire, type Page, type Routes } from './wire.ts'

const project = '/projects/:project'
const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const missing = () => new Refused(404, '404 Not found')

/** GitLab's REST API of version 4. */
export const gitLab: MakeWire = (state, place) => {
  const records = new GitLabRecords(state, place)
  return {
    prefixes: ['/api/v4'],
    routes: {
      'GET /user': ({ actor }) => ({ body: { ...records.user(actor), bot: false, is_admin: false } }),
      'GET /users': ({ query }) => ({
        list: [...state.accounts.keys()]
          .filter(login => login === query.get('username'))
          .map(login => records.user(login)),
      }),
      [`GET ${project}`]: () => ({ body: records.project() }),
      [`GET ${project}/labels`]: () => ({ list: [...state.labels.keys()].map(name => records.label(name)) }),
      ...pullRoutes(state, records),
      ...noteRoutes(state, records),
      ...issueRoutes(state, records),
      ...gitLabChecks(state, records),
      ...repositoryRoutes(state, records),
    },
    token: headers => text(headers['private-token']) || /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1],
    refusal: (_, message, details) => ({ message, ...details }),
    pages: { size: 'per_page', usual: 20, maxSize: 100 },
    pageHeaders,
    rateHeaders: (limit, remaining, resetAt) => ({
      'ratelimit-limit': `${limit}`,
      'ratelimit-name': 'throttle_authenticated_api',
      'ratelimit-observed': `${limit - remaining}`,
      'ratelimit-remaining': `${remaining}`,
      'ratelimit-reset': `${resetAt}`,
    }),
    conditional: true,
    limited: (_, seconds) => ({
      status: 429,
      headers: {
        'retry-after': `${seconds}`,
        'ratelimit-limit': '60',
        'ratelimit-remaining': '0',
        'ratelimit-reset': `${Math.ceil(Date.now() / 1000) + seconds}`,
      },
      body: 'Retry later\n',
    }),
    event: gitLabEvents(state, records),
    sign: (event, id, _, secret) => ({
      'user-agent': 'GitLab/17.9.0',
      'x-gitlab-event': event,
      'x-gitlab-instance': place.url,
      'x-gitlab-webhook-uuid': '5ebf4b6c-3a0f-4f0e-a2b7-3f2f0b2d3c11',
      'x-gitlab-event-uuid': id,
      'idempotency-key': id,
      'x-gitlab-token': secret,
    }),
  }
}

function pageHeaders(page: Page): Record<string, string> {
  const { number, size, total } = page
  const last = Math.max(1, Math.ceil(total / size))
  return {
    ...linkHeader(page),
    'x-page': `${number}`,
    'x-per-page': `${size}`,
    'x-next-page': number < last ? `${number + 1}` : '',
    'x-prev-page': number > 1 ? `${number - 1}` : '',
    'x-total': `${total}`,
    'x-total-pages': `${last}`,
  }
}

const listed = (value: unknown): string[] =>
  Array.isArray(value) ? (value as string[]) : text(value).split(',').filter(Boolean)

/** "opened", "closed", "merged" or "all", labels, since when, and the order. */
function select<T extends Issue | Pull>(all: readonly T[], { query }: Call): T[] {
  const state = query.get('state') ?? 'all'
  const labels = listed(query.get('labels'))
  const after = query.has('updated_after') ? Date.parse(query.get('updated_after')!) : 0
  const by = query.get('order_by') === 'updated_at' ? 'updatedAt' : 'createdAt'
  const found = all
    .filter(each => state === 'all' || (each.state === 'open' ? 'opened' : each.state) === state)
    .filter(each => labels.every(label => each.labels.includes(label)) && each.updatedAt >= after)
    .sort((a, b) => b[by] - a[by] || b.number - a.number)
  return query.get('sort') === 'asc' ? found.reverse() : found
}

function relabelled(labels: readonly string[], body: Record<string, unknown>): string[] {
  const removed = listed(body.remove_labels)
  return [...(body.labels === undefined ? labels : listed(body.labels)), ...listed(body.add_labels)].filter(
    each => !removed.includes(each),
  )
}

function pullOf(state: ForgeState, { params }: Call): Pull {
  const found = state.pulls.find(({ number }) => `${number}` === params.iid)
  if (!found) throw missing()
  return found
}

function pullRoutes(state: ForgeState, records: GitLabRecords): Routes {
  const of = (call: Call) => pullOf(state, call)
  const requests = `${project}/merge_requests`
  const logins = (ids: unknown) =>
    [...state.accounts.values()]
      .filter(({ id }) => listed(ids).map(Number).includes(id))
      .map(({ login }) => login)
      .slice(0, state.maxReviewers)
  return {
    [`GET ${requests}`]: call => ({
      list: select(state.pulls, call)
        .filter(({ head }) => (call.query.get('source_branch') ?? head) === head)
        .filter(({ base }) => (call.query.get('target_branch') ?? base) === base)
        .map(pull => listedPull(records, pull)),
    }),
    [`POST ${requests}`]: call => {
      const pull = createPull(state, call)
      const { body, actor } = call
      if (listed(body.labels).length > 0) state.setPullLabels(pull, listed(body.labels), actor)
      if (listed(body.reviewer_ids).length > 0) state.requestReviewers(pull, logins(body.reviewer_ids), actor)
      return { status: 201, body: records.pull(pull) }
    },
    [`GET ${requests}/:iid`]: call => {
      const body = records.pull(of(call))
      if (of(call).unknownFor > 0) of(call).unknownFor--
      return { body }
    },
    [`PUT ${requests}/:iid`]: call => {
      const [pull, { body, actor }] = [of(call), call]
      state.editPull(
        pull,
        {
          ...(body.title !== undefined && { title: text(body.title), draft: draftTitle.test(text(body.title)) }),
          ...(body.description !== undefined && { body: text(body.description) }),
          ...(body.target_branch !== undefined && { base: text(body.target_branch) }),
          ...(body.state_event !== undefined && {
            state: body.state_event === 'close' ? ('closed' as const) : ('open' as const),
          }),
        },
        actor,
      )
      if (['labels', 'add_labels', 'remove_labels'].some(name => body[name] !== undefined))
        state.setPullLabels(pull, relabelled(pull.labels, body), actor)
      if (body.reviewer_ids !== undefined) state.requestReviewers(pull, logins(body.reviewer_ids), actor)
      return { body: records.pull(pull) }
    },
    [`PUT ${requests}/:iid/merge`]: call => mergePull(state, records, call),
    [`GET ${requests}/:iid/approvals`]: call => {
      const approved = latestVerdicts(state, of(call)).filter(([, state]) => state === 'approved')
      const {
        id,
        iid,
        project_id,
        title,
        description,
        state: said,
        created_at,
        updated_at,
        merge_status,
      } = records.pull(of(call))
      const { approvals } = state.protection
      return {
        body: {
          id,
          iid,
          project_id,
          title,
          description,
          state: said,
          created_at,
          updated_at,
          merge_status,
          approvals_required: approvals,
          approvals_left: Math.max(0, approvals - approved.length),
          user_has_approved: approved.some(([login]) => login === call.actor),
          user_can_approve: true,
          approved: approved.length >= approvals,
          approved_by: approved.map(([login, , at]) => ({
            user: records.user(login),
            approved_at: new Date(at).toISOString(),
          })),
        },
      }
    },
    [`GET ${requests}/:iid/reviewers`]: call => {
      const words = { approved: 'approved', changes_requested: 'requested_changes', commented: 'reviewed' } as Record<
        string,
        string
      >
      const said = latestVerdicts(state, of(call)).map(
        ([login, verdict]) => [login, words[verdict] ?? 'unapproved'] as const,
      )
      const states = new Map<string, string>([
        ...said,
        ...of(call).reviewers.map(login => [login, 'unreviewed'] as const),
      ])
      return {
        list: [...states].map(([login, word]) => ({
          user: records.user(login),
          state: word,
          created_at: new Date(of(call).createdAt).toISOString(),
        })),
      }
    },
    [`GET ${requests}/:iid/commits`]: call => ({
      list: state.repository
        .commits(of(call).baseSha, of(call).headSha)
        .map(({ sha, message, author, email, date }) => ({
          id: sha,
          short_id: sha.slice(0, 8),
          title: message.split('\n')[0],
          message,
          author_name: author,
          author_email: email,
          created_at: date,
        })),
    }),
  }
}

/** The form of a request in a list: without the counts of a single request. */
function listedPull(records: GitLabRecords, pull: Pull) {
  const all = Object.entries(records.pull(pull))
  return Object.fromEntries(
    all.slice(
      0,
      all.findIndex(([name]) => name === 'changes_count'),
    ),
  )
}

/** The newest verdict of each reviewer, or the newest remark if there is none. */
export function latestVerdicts(state: ForgeState, pull: Pull): [string, string, number][] {
  const last = new Map<string, [string, string, number]>()
  for (const { number, author, state: said, submittedAt } of state.reviews)
    if (number === pull.number && (said !== 'commented' || !last.has(author)))
      last.set(author, [author, said, submittedAt])
  return [...last.values()]
}

function createPull(state: ForgeState, { body, actor }: Call): Pull {
  const [head, base, title] = [text(body.source_branch), text(body.target_branch), text(body.title)]
  const lacking = Object.entries({ source_branch: head, target_branch: base, title }).filter(
    ([, value]) => value === '',
  )
  if (lacking.length > 0)
    throw new Refused(400, '', { message: undefined, error: lacking.map(([name]) => `${name} is missing`).join(', ') })
  if (title.length > 255)
    throw new Refused(400, '', { message: { title: ['is too long (maximum is 255 characters)'] } })
  for (const [name, branch] of Object.entries({ source_branch: head, target_branch: base }))
    if (state.repository.tip(branch) === undefined)
      throw new Refused(400, '', { message: { [name]: ['does not exist'] } })
  const there = state.pulls.find(each => each.state === 'open' && each.head === head && each.base === base)
  if (there)
    throw new Refused(409, '', {
      message: [`Another open merge request already exists for this source branch: !${there.number}`],
    })
  return state.openPull({
    title,
    body: text(body.description),
    author: actor,
    head,
    base,
    draft: draftTitle.test(title),
  })
}

function mergePull(state: ForgeState, records: GitLabRecords, call: Call): Answer {
  const [pull, { body, actor }] = [pullOf(state, call), call]
  const status = records.mergeState(pull)
  if (
    ['not_open', 'draft_status', 'not_approved', 'requested_changes', 'ci_must_pass', 'ci_still_running'].includes(
      status,
    )
  )
    throw new Refused(405, '405 Method Not Allowed')
  if (body.sha !== undefined && body.sha !== pull.headSha)
    throw new Refused(409, `SHA does not match HEAD of source branch: ${pull.headSha}`)
  if (status !== 'mergeable') throw new Refused(422, 'Branch cannot be merged')
  const squash = records.squashOption === 'always' || (body.squash === true && records.squashOption !== 'never')
  const message = text(squash ? body.squash_commit_message : body.merge_commit_message)
  state.merge(pull, { method: squash ? 'squash' : records.mergeMethod, actor, ...(message !== '' && { message }) })
  if (body.should_remove_source_branch === true) state.deleteBranch(pull.head, actor)
  return { body: records.pull(pull) }
}

function noteRoutes(state: ForgeState, records: GitLabRecords): Routes {
  const requests = `${project}/merge_requests/:iid`
  const of = (call: Call) => pullOf(state, call)
  const notes = (call: Call) => {
    const { number } = of(call)
    const all = [
      ...state.reviews.filter(each => each.number === number).flatMap(review => records.systemNote(review) ?? []),
      ...state.comments.filter(each => each.onPull && each.number === number).map(each => records.note(each)),
      ...state.lineComments.filter(each => each.number === number).map(each => records.lineNote(each)),
    ].sort((a, b) => b.id - a.id)
    return call.query.get('sort') === 'asc' ? all.reverse() : all
  }
  return {
    [`GET ${requests}/notes`]: call => ({ list: notes(call) }),
    [`POST ${requests}/notes`]: call => ({
      status: 201,
      body: records.note(state.comment(of(call), call.actor, said(call))),
    }),
    [`GET ${requests}/discussions`]: call => ({ list: records.discussions(of(call)) }),
    [`POST ${requests}/discussions/:discussion/notes`]: call => {
      const first = state.lineComments.find(({ thread }) => thread === call.params.discussion)
      if (first) return { status: 201, body: records.lineNote(state.reply(first, call.actor, said(call))) }
      if (!state.comments.some(comment => comment.onPull && threadOf(comment) === call.params.discussion))
        throw missing()
      return { status: 201, body: records.note(state.comment(of(call), call.actor, said(call))) }
    },
    [`PUT ${requests}/discussions/:discussion`]: call => {
      state.resolve(call.params.discussion!, `${call.body.resolved ?? call.query.get('resolved')}` === 'true')
      const found = records.discussions(of(call)).find(({ id }) => id === call.params.discussion)
      if (!found) throw missing()
      return { body: found }
    },
  }
}

function said({ body }: Call): string {
  if (text(body.body) === '') throw new Refused(400, '', { message: undefined, error: 'body is missing' })
  return text(body.body)
}

function issueRoutes(state: ForgeState, records: GitLabRecords): Routes {
  const issues = `${project}/issues`
  const of = ({ params }: Call): Issue => {
    const found = state.issues.find(({ number }) => `${number}` === params.iid)
    if (!found) throw missing()
    return found
  }
  const commentOf = ({ params }: Call) => {
    const found = state.comments.find(({ id }) => `${id}` === params.note)
    if (!found) throw missing()
    return found
  }
  return {
    [`GET ${issues}`]: call => ({ list: select(state.issues, call).map(issue => records.issue(issue)) }),
    [`POST ${issues}`]: ({ body, actor }) => ({
      status: 201,
      body: records.issue(
        state.openIssue({
          title: text(body.title),
          body: text(body.description),
          author: actor,
          labels: listed(body.labels),
        }),
      ),
    }),
    [`GET ${issues}/:iid`]: call => ({ body: records.issue(of(call)) }),
    [`PUT ${issues}/:iid`]: call => {
      const [issue, { body, actor }] = [of(call), call]
      if (body.title !== undefined || body.description !== undefined)
        state.editIssue(
          issue,
          {
            ...(body.title !== undefined && { title: text(body.title) }),
            ...(body.description !== undefined && { body: text(body.description) }),
          },
          actor,
        )
      if (['labels', 'add_labels', 'remove_labels'].some(name => body[name] !== undefined))
        state.setIssueLabels(issue, relabelled(issue.labels, body), actor)
      if (body.state_event === 'close') state.setIssueState(issue, 'closed', 'completed', actor)
      if (body.state_event === 'reopen') state.setIssueState(issue, 'open', 'reopened', actor)
      return { body: records.issue(issue) }
    },
    [`GET ${issues}/:iid/notes`]: call => {
      const by = call.query.get('order_by') === 'updated_at' ? 'updatedAt' : 'createdAt'
      const found = state.comments
        .filter(each => !each.onPull && each.number === of(call).number)
        .sort((a, b) => b[by] - a[by] || b.id - a.id)
      return { list: (call.query.get('sort') === 'asc' ? found.reverse() : found).map(each => records.note(each)) }
    },
    [`POST ${issues}/:iid/notes`]: call => ({
      status: 201,
      body: records.note(state.comment(of(call), call.actor, said(call))),
    }),
    [`PUT ${issues}/:iid/notes/:note`]: call => {
      state.editComment(commentOf(call), said(call), call.actor)
      return { body: records.note(commentOf(call)) }
    },
    [`DELETE ${issues}/:iid/notes/:note`]: call => {
      state.deleteComment(commentOf(call), call.actor)
      return { status: 204 }
    },
  }
}

function repositoryRoutes(state: ForgeState, records: GitLabRecords): Routes {
  return {
    [`GET ${project}/repository/branches/:branch`]: ({ params }) => {
      const id = state.repository.tip(params.branch!)
      if (id === undefined) throw new Refused(404, '404 Branch Not Found')
      return {
        body: {
          name: params.branch,
          merged: false,
          protected: params.branch === state.repository.defaultBranch,
          default: params.branch === state.repository.defaultBranch,
          developers_can_push: true,
          developers_can_merge: true,
          can_push: true,
          web_url: `${records.page}/-/tree/${params.branch!}`,
          commit: { id, short_id: id.slice(0, 8) },
        },
      }
    },
    [`DELETE ${project}/repository/branches/:branch`]: ({ params, actor }) => {
      if (!state.deleteBranch(params.branch!, actor)) throw new Refused(404, '404 Branch Not Found')
      return { status: 204 }
    },
    [`GET ${project}/repository/files/:path/raw`]: ({ params, query }) => {
      const content = state.repository.read(query.get('ref') ?? state.repository.defaultBranch, params.path!)
      if (content === undefined) throw new Refused(404, '404 File Not Found')
      return { body: content }
    },
  }
}
