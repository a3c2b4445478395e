import * as v from 'valibot'
import type { MergeMethod } from '../../contract/forges/forge.ts'
import { ForgeFailed, type Forge, type ForgeAddress, type ForgePull, type PullChange, type PullPart } from '../forge.ts'
import { Anything, Body, Branch, Count, Moment, Name, PageUrl, Sha, Title } from '../forgeFields.ts'
import { asInvalid } from '../forgeFailures.ts'
import type { ForgeHttp } from '../forgeHttp.ts'
import { projectPath, User } from './fields.ts'

const Project = v.object({
  id: Count,
  default_branch: v.nullish(Branch),
  web_url: PageUrl,
  merge_method: v.optional(v.string(), 'merge'),
  squash_option: v.nullish(v.string(), 'default_off'),
})
const Mergeable = v.object({
  iid: Count,
  web_url: PageUrl,
  title: Title,
  description: Body,
  state: v.picklist(['opened', 'closed', 'locked', 'merged']),
  draft: v.optional(v.boolean(), false),
  source_branch: Branch,
  target_branch: Branch,
  source_project_id: v.nullish(Count),
  target_project_id: Count,
  // Null if the branch was deleted.
  sha: v.nullish(Sha, ''),
  merge_commit_sha: v.nullish(Sha),
  squash_commit_sha: v.nullish(Sha),
  has_conflicts: v.optional(v.boolean(), false),
  merge_status: v.optional(v.string(), 'unchecked'),
  detailed_merge_status: v.optional(v.string()),
  // From GitLab 13.8.
  reviewers: v.optional(v.array(User), []),
  labels: v.optional(v.array(Name), []),
  updated_at: Moment,
})
type Mergeable = v.InferOutput<typeof Mergeable>

/** GitLab is computing the status, or has not processed the branch yet. */
const computing = new Set(['unchecked', 'checking', 'preparing', 'approvals_syncing', 'cannot_be_merged_recheck'])
/** https://docs.gitlab.com/api/merge_requests/#merge-status */
const stuck = new Set(['conflict', 'need_rebase', 'broken_status', 'cannot_be_merged', 'commits_status'])
const draftPrefix = /^\s*(?:\[draft\]|\(draft\)|draft:)\s*/i

/** Merge requests of a project on GitLab. */
export function gitLabPulls(http: ForgeHttp, address: ForgeAddress): PullPart {
  const project = projectPath(address)
  const path = (number: number) => `${project}/merge_requests/${number}`
  const toPull = (pull: Mergeable) => pullAt(pull, address)
  return {
    account: async () => (await http.get('/user', User)).username,
    repository: async () => {
      const found = await http.get(project, Project)
      return {
        defaultBranch: found.default_branch ?? 'main',
        url: found.web_url ?? `${address.webUrl}/${address.repository}`,
        mergeMethods: methodsOf(found),
      }
    },
    findPull: async branch => {
      const query = { source_branch: branch, state: 'all', scope: 'all', order_by: 'created_at', sort: 'desc' }
      const all = await http.get(`${project}/merge_requests`, v.array(Mergeable), { ...query, per_page: 50 })
      const own = all.filter(each => each.source_branch === branch && each.source_project_id === each.target_project_id)
      const found = own.find(({ state }) => state === 'opened' || state === 'locked') ?? own[0]
      // A listed merge request can have an old status.
      return found && toPull(await http.get(path(found.iid), Mergeable))
    },
    createPull: async ({ branch, base, title, body, draft, labels, reviewers }) => {
      const { ids, unknown } = await findUsers(http, reviewers)
      const { taken, refused } = withoutCommas(labels)
      const fields = {
        source_branch: branch,
        target_branch: base,
        title: draftTitle(title, draft),
        description: body,
        labels: taken.join(','),
        reviewer_ids: ids,
      }
      const made = await http.send('POST', `${project}/merge_requests`, fields, Mergeable).catch(asInvalid)
      return { pull: toPull(made), notTaken: [...refused, ...unknown, ...leftOut(made, ids)] }
    },
    readPull: async (number, since) => {
      const answer = await http.getSince(path(number), Mergeable, since)
      return answer === 'unchanged' ? answer : { ...toPull(answer.value), etag: answer.etag }
    },
    updatePull: async (number, change) => {
      const { title, body, base, draft } = change
      const now = await http.get(path(number), Mergeable)
      const isTitled = title !== undefined || draft !== undefined
      const name = isTitled ? draftTitle(title ?? withoutDraftPrefix(now.title), draft ?? now.draft) : undefined
      const { fields, ids, notTaken } = await namesIn(http, now, change)
      const sent = { title: name, description: body, target_branch: base, ...fields }
      const isChanged = Object.values(sent).some(each => each !== undefined)
      const pull = isChanged ? await http.send('PUT', path(number), sent, Mergeable) : now
      return { pull: toPull(pull), notTaken: [...notTaken, ...leftOut(pull, ids)] }
    },
    closePull: async number => {
      await http.send('PUT', path(number), { state_event: 'close' }, Anything)
    },
    mergePull: async (number, merge) => toPull(await mergeRequest(http, project, number, merge)).mergeCommit,
  }
}

async function mergeRequest(
  http: ForgeHttp,
  project: string,
  number: number,
  { method, headCommit, title }: Parameters<Forge['mergePull']>[1],
): Promise<Mergeable> {
  const allowed = methodsOf(await http.get(project, Project))
  if (!allowed.includes(method))
    throw new ForgeFailed('invalid', `The project on GitLab merges by ${allowed.join(' or ')} only.`)
  const isSquash = method === 'squash'
  const message = isSquash ? { squash_commit_message: title } : { merge_commit_message: title }
  const body = { sha: headCommit, squash: isSquash, ...message }
  try {
    return await http.send('PUT', `${project}/merge_requests/${number}/merge`, body, Mergeable)
  } catch (error) {
    // For a branch that cannot be merged, GitLab before 15.11 responds with 406, and later versions with 422.
    if (error instanceof ForgeFailed && error.reason === 'invalid')
      throw new ForgeFailed('conflict', error.message, { cause: error })
    throw error
  }
}

function pullAt(pull: Mergeable, { webUrl, repository }: ForgeAddress): ForgePull {
  const { state } = pull
  return {
    number: pull.iid,
    url: pull.web_url ?? `${webUrl}/${repository}/-/merge_requests/${pull.iid}`,
    title: withoutDraftPrefix(pull.title),
    body: pull.description,
    state: state === 'opened' || state === 'locked' ? 'open' : state,
    draft: pull.draft,
    base: pull.target_branch,
    branch: pull.source_branch,
    headCommit: pull.sha ?? '',
    reviewers: pull.reviewers.map(({ username }) => username),
    labels: pull.labels,
    ...mergeableOf(pull),
    // Without a merge commit, the base was fast-forwarded.
    mergeCommit: state === 'merged' ? (pull.merge_commit_sha ?? pull.squash_commit_sha ?? (pull.sha || null)) : null,
    updatedAt: pull.updated_at,
  }
}

function mergeableOf(pull: Mergeable): Pick<ForgePull, 'mergeable' | 'ready'> {
  const status = pull.detailed_merge_status ?? pull.merge_status
  if (pull.state !== 'opened' || computing.has(status) || status === 'not_open') return { mergeable: null, ready: null }
  if (stuck.has(status)) return { mergeable: false, ready: false }
  const isReady = status === 'mergeable' || (status === 'can_be_merged' && !pull.draft)
  return { mergeable: !pull.has_conflicts, ready: isReady && !pull.has_conflicts }
}

/** A project has one merge method, and can also squash a merge request. */
function methodsOf({ merge_method, squash_option }: v.InferOutput<typeof Project>): MergeMethod[] {
  const usual = merge_method === 'ff' ? 'rebase' : 'merge'
  if (squash_option === 'always') return ['squash']
  return squash_option === 'never' ? [usual] : [usual, 'squash']
}

const withoutDraftPrefix = (title: string): string => title.replace(draftPrefix, '')
const draftTitle = (title: string, draft: boolean): string =>
  draft ? `Draft: ${withoutDraftPrefix(title)}` : withoutDraftPrefix(title)

/** The fields that change reviewers and labels. GitLab accepts only the complete list of reviewers, by ID. */
async function namesIn(
  http: ForgeHttp,
  { reviewers: present }: Mergeable,
  { addReviewers = [], removeReviewers = [], addLabels = [], removeLabels = [] }: PullChange,
) {
  const isOf = (names: readonly string[], { username }: { username: string }) =>
    names.some(name => name.toLowerCase() === username.toLowerCase())
  const { ids, unknown } = await findUsers(http, addReviewers)
  const { taken, refused } = withoutCommas(addLabels)
  const wanted = new Set([...present.filter(each => !isOf(removeReviewers, each)).map(({ id }) => id), ...ids])
  const isSame = wanted.size === present.length && present.every(({ id }) => wanted.has(id))
  const fields = {
    // 0 means no reviewers, because some versions ignore an empty list.
    reviewer_ids: isSame ? undefined : wanted.size === 0 ? [0] : [...wanted],
    add_labels: taken.length === 0 ? undefined : taken.join(','),
    remove_labels: removeLabels.length === 0 ? undefined : withoutCommas(removeLabels).taken.join(','),
  }
  return { fields, ids, notTaken: [...refused, ...unknown] }
}

/** Labels are sent comma-separated. */
function withoutCommas(labels: readonly string[]): { taken: string[]; refused: string[] } {
  const taken = labels.filter(label => !label.includes(','))
  const refused = labels.filter(label => label.includes(','))
  return { taken, refused: refused.map(label => `A label on GitLab cannot contain a comma: ${label}.`) }
}

async function findUsers(http: ForgeHttp, usernames: readonly string[]): Promise<{ ids: number[]; unknown: string[] }> {
  const Users = v.array(User)
  const people = await Promise.all(usernames.map(async username => (await http.get('/users', Users, { username }))[0]))
  const unknown = usernames.filter((_, index) => people[index] === undefined)
  return {
    ids: people.flatMap(person => person?.id ?? []),
    unknown: unknown.map(name => `GitLab has no user ${name}.`),
  }
}

/** Some editions accept only one reviewer, and none accepts a user who cannot see the project. */
const leftOut = ({ reviewers }: Mergeable, wanted: readonly number[]): string[] => {
  const count = wanted.filter(id => reviewers.every(each => each.id !== id)).length
  if (count === 0) return []
  const taken = reviewers.map(({ username }) => username).join(', ')
  return [`GitLab omitted ${count} of the reviewers. Current reviewers: ${taken || 'none'}.`]
}
