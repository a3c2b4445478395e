import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import * as v from 'valibot'
import type { ForgeAddress } from './forge.ts'
import { Branch, Count, Sha } from './forgeFields.ts'

/** The content of a forge's webhook delivery. The board uses only its subject and reads the current state from the forge. */
export interface ForgeDelivery {
  /** `pull`: a pull request or the commits of a branch. `other`: an event that the board does not use. */
  kind: 'pull' | 'checks' | 'review' | 'comment' | 'issue' | 'ping' | 'other'
  /** Identical for each repeated delivery. */
  id: string
  /** owner/name; on GitLab with all groups. */
  repository?: string
  /** The number of a pull request. */
  number?: number
  /** The number of an issue. */
  issue?: number
  branch?: string
  commit?: string
}
type Headers = Readonly<Record<string, string | string[] | undefined>>
type About = Omit<ForgeDelivery, 'id' | 'repository'>

/** Ignores a part of a body that differs from the documentation. */
const lenient = <T>(schema: v.GenericSchema<unknown, T>) => v.optional(v.fallback(v.optional(schema), undefined))
const lenientObject = <T extends v.ObjectEntries>(entries: T) =>
  lenient(v.object(entries) as v.GenericSchema<unknown, v.InferOutput<v.ObjectSchema<T, undefined>>>)

const Side = { ref: lenient(Branch), sha: lenient(Sha) }
const Run = {
  head_sha: lenient(Sha),
  head_branch: lenient(Branch),
  pull_requests: lenient(v.array(v.object({ number: Count }))),
}
const Numbered = {
  iid: lenient(Count),
  source_branch: lenient(Branch),
  last_commit: lenientObject({ id: lenient(Sha) }),
}
/** The fields of all three forges. Each forge sends some of them. */
const Body = v.object({
  object_kind: lenient(v.string()),
  ref: lenient(v.string()),
  sha: lenient(Sha),
  after: lenient(Sha),
  is_pull: lenient(v.boolean()),
  action: lenient(v.string()),
  repository: lenientObject({ full_name: lenient(v.string()) }),
  project: lenientObject({ path_with_namespace: lenient(v.string()) }),
  pull_request: lenientObject({ number: lenient(Count), head: lenientObject(Side) }),
  issue: lenientObject({ number: lenient(Count), iid: lenient(Count), pull_request: lenient(v.nullable(v.unknown())) }),
  check_run: lenientObject({ ...Run, check_suite: lenientObject(Run) }),
  check_suite: lenientObject(Run),
  workflow_run: lenientObject(Run),
  workflow_job: lenientObject(Run),
  branches: lenient(v.array(v.object({ name: Branch }))),
  object_attributes: lenientObject({
    ...Numbered,
    noteable_type: lenient(v.string()),
    action: lenient(v.string()),
    ref: lenient(Branch),
    sha: lenient(Sha),
  }),
  merge_request: lenientObject(Numbered),
})
type Body = v.InferOutput<typeof Body>

/**
 * Parses a delivery of a forge's webhook.
 * @param body the verbatim body
 * @returns undefined if it was not signed with the secret
 */
export function readDelivery(
  kind: ForgeAddress['kind'],
  headers: Headers,
  body: Buffer,
  secret: string,
): ForgeDelivery | undefined {
  const header = (...names: string[]) =>
    names.map(name => headers[name]).find(each => typeof each === 'string') as string | undefined
  if (secret === '' || !isSigned(kind, header, body, secret)) return undefined
  const named = {
    github: ['x-github-delivery'],
    gitlab: ['idempotency-key', 'x-gitlab-event-uuid'],
    gitea: ['x-gitea-delivery', 'x-forgejo-delivery', 'x-gogs-delivery'],
  }
  const given = header(...named[kind])
  const id =
    given !== undefined && /^[\w.:-]{1,200}$/.test(given) ? given : createHash('sha256').update(body).digest('hex')
  const payload = parse(body, header('content-type'))
  const repository = payload?.repository?.full_name ?? payload?.project?.path_with_namespace
  const event = header(`x-${kind}-event`, 'x-forgejo-event') ?? ''
  const about: About = !payload ? { kind: 'other' } : kind === 'gitlab' ? ofGitLab(payload) : ofGitHub(event, payload)
  return Object.fromEntries(
    Object.entries({ id, repository, ...about }).filter(([, value]) => value !== undefined),
  ) as unknown as ForgeDelivery
}

function isSigned(
  kind: ForgeAddress['kind'],
  header: (...names: string[]) => string | undefined,
  body: Buffer,
  secret: string,
): boolean {
  if (kind === 'gitlab') return isSame(digest(header('x-gitlab-token') ?? ''), digest(secret))
  const given =
    kind === 'github'
      ? header('x-hub-signature-256')?.replace(/^sha256=/, '')
      : header('x-gitea-signature', 'x-forgejo-signature')
  if (given === undefined || !/^[0-9a-f]{64}$/i.test(given)) return false
  return isSame(Buffer.from(given, 'hex'), createHmac('sha256', secret).update(body).digest())
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
/** Compares in constant time. */
const isSame = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)

/** JSON, or a form with JSON in it, which is GitHub's default. */
function parse(body: Buffer, type: string | undefined): Body | undefined {
  const text = body.toString('utf8')
  try {
    const json = type?.startsWith('application/x-www-form-urlencoded') ? new URLSearchParams(text).get('payload') : text
    const { success, output } = v.safeParse(Body, JSON.parse(json ?? ''))
    return success ? output : undefined
  } catch {
    return undefined
  }
}

/** Events of GitHub, and of Gitea and Forgejo, which use some other names. */
function ofGitHub(event: string, payload: Body): About {
  const { pull_request: pull, issue } = payload
  const ofPull = { number: pull?.number, branch: pull?.head?.ref, commit: pull?.head?.sha }
  if (event === 'ping') return { kind: 'ping' }
  if (event === 'push') return ofPush(payload)
  if (event === 'status') return { kind: 'checks', commit: payload.sha, branch: payload.branches?.[0]?.name }
  const run = payload.check_run ?? payload.check_suite ?? payload.workflow_run ?? payload.workflow_job
  if (run) {
    const branch = run.head_branch ?? payload.check_run?.check_suite?.head_branch
    return { kind: 'checks', commit: run.head_sha, branch, number: run.pull_requests?.[0]?.number }
  }
  if (event.startsWith('issue') && issue) {
    const isPull = payload.is_pull === true || (issue.pull_request !== undefined && issue.pull_request !== null)
    const about = isPull ? { number: issue.number } : { issue: issue.number }
    return { kind: event === 'issue_comment' ? 'comment' : isPull ? 'pull' : 'issue', ...about }
  }
  if (/^pull_request_review_(?:comment|thread)$|^pull_request_comment$/.test(event))
    return { kind: 'comment', ...ofPull }
  if (/^pull_request_(?:review|approved|rejected)/.test(event)) return { kind: 'review', ...ofPull }
  return pull ? { kind: 'pull', ...ofPull } : { kind: 'other' }
}

function ofGitLab(payload: Body): About {
  const { object_attributes: it, merge_request: on } = payload
  const requestFields = (request: typeof on) => ({
    number: request?.iid,
    branch: request?.source_branch,
    commit: request?.last_commit?.id,
  })
  switch (payload.object_kind) {
    case 'merge_request':
      return { kind: /approv/.test(it?.action ?? '') ? 'review' : 'pull', ...requestFields(it) }
    case 'note':
      if (it?.noteable_type === 'MergeRequest') return { kind: 'comment', ...requestFields(on) }
      return it?.noteable_type === 'Issue' ? { kind: 'comment', issue: payload.issue?.iid } : { kind: 'other' }
    case 'issue':
    case 'work_item':
      return { kind: 'issue', issue: it?.iid }
    case 'pipeline':
      return { kind: 'checks', number: on?.iid, branch: it?.ref, commit: it?.sha }
    case 'build':
      return { kind: 'checks', branch: branchOf(payload.ref), commit: payload.sha }
    case 'push':
      return ofPush(payload)
    default:
      return { kind: 'other' }
  }
}

/** A deleted branch has zeros instead of a commit. */
const ofPush = ({ ref, after }: Body): About =>
  ref?.startsWith('refs/tags/')
    ? { kind: 'other' }
    : { kind: 'pull', branch: branchOf(ref), commit: after && /^0+$/.test(after) ? undefined : after }

const branchOf = (ref: string | undefined): string | undefined => ref?.replace(/^refs\/heads\//, '')
