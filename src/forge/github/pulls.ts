import * as v from 'valibot'
import { ForgeFailed, type ForgeAddress, type ForgePull, type PullChange, type PullPart } from '../forge.ts'
import { Anything, Body, Branch, Count, Moment, Name, PageUrl, Sha, Title } from '../forgeFields.ts'
import type { ForgeHttp } from '../forgeHttp.ts'
import {
  closePull,
  changeReviewers,
  isSame,
  readLogin,
  RequestedReviewers,
  ignoredFailure,
  toRepository,
} from '../gitHubCompatible.ts'

const Repository = v.object({
  default_branch: Branch,
  html_url: PageUrl,
  // Visible only to users with push access.
  allow_merge_commit: v.optional(v.boolean()),
  allow_squash_merge: v.optional(v.boolean()),
  allow_rebase_merge: v.optional(v.boolean()),
})
const SimplePull = v.object({
  number: Count,
  node_id: v.string(),
  html_url: PageUrl,
  title: Title,
  body: Body,
  state: v.picklist(['open', 'closed']),
  draft: v.optional(v.boolean(), false),
  merged_at: v.nullish(v.string()),
  merge_commit_sha: v.nullish(Sha),
  updated_at: Moment,
  head: v.object({ ref: Branch, sha: Sha, repo: v.nullish(v.object({ full_name: v.string() })) }),
  base: v.object({ ref: Branch }),
  requested_reviewers: RequestedReviewers,
  labels: v.optional(v.array(v.object({ name: Name })), []),
})
const Pull = v.object({
  ...SimplePull.entries,
  mergeable: v.nullish(v.boolean()),
  mergeable_state: v.optional(v.string(), 'unknown'),
})
const Merged = v.object({ sha: v.nullish(Sha), merged: v.boolean() })
const GraphAnswer = v.object({
  errors: v.optional(v.array(v.object({ type: v.optional(v.string()), message: Title })), []),
})

/** https://docs.github.com/graphql/reference/enums#mergestatestatus */
const readiness: Readonly<Record<string, boolean>> = {
  clean: true,
  has_hooks: true,
  unstable: true,
  blocked: false,
  behind: false,
  dirty: false,
  draft: false,
}

/** Pull requests of a repository on GitHub. */
export function gitHubPulls(http: ForgeHttp, address: ForgeAddress): PullPart {
  const repo = `/repos/${address.repository}`
  const owner = address.repository.split('/')[0]!
  const path = (number: number) => `${repo}/pulls/${number}`
  const read = (number: number) => http.get(path(number), Pull)
  const toPull = (pull: v.InferOutput<typeof Pull>) => pullAt(pull, address)
  return {
    account: () => readLogin(http),
    repository: async () => {
      const found = await http.get(repo, Repository)
      return toRepository(found, address, {
        merge: found.allow_merge_commit,
        squash: found.allow_squash_merge,
        rebase: found.allow_rebase_merge,
      })
    },
    findPull: async branch => {
      const query = { head: `${owner}:${branch}`, state: 'all', sort: 'created', direction: 'desc', per_page: 50 }
      // If GitHub does not understand the head, it lists all.
      const own = (await http.get(`${repo}/pulls`, v.array(SimplePull), query)).filter(
        ({ head }) => head.ref === branch && isSame(head.repo?.full_name ?? address.repository, address.repository),
      )
      const found = own.find(({ state }) => state === 'open') ?? own[0]
      return found && toPull(await read(found.number))
    },
    createPull: async request => {
      const { branch: head, base, title, body, draft, labels: addLabels, reviewers: addReviewers } = request
      const made = await http.send('POST', `${repo}/pulls`, { head, base, title, body, draft }, SimplePull)
      const notTaken = await changeNames(http, repo, made, { addLabels, addReviewers })
      return { pull: toPull(await read(made.number)), notTaken }
    },
    readPull: async (number, since) => {
      const answer = await http.getSince(path(number), Pull, since)
      return answer === 'unchanged' ? answer : { ...toPull(answer.value), etag: answer.etag }
    },
    updatePull: async (number, { title, body, base, draft, ...names }) => {
      const isChanged = [title, body, base].some(each => each !== undefined)
      const pull = isChanged ? await http.send('PATCH', path(number), { title, body, base }, Pull) : await read(number)
      if (draft !== undefined && draft !== pull.draft) await setDraft(http, address.apiUrl, pull.node_id, draft)
      const notTaken = await changeNames(http, repo, pull, names)
      return { pull: toPull(await read(number)), notTaken }
    },
    closePull: number => closePull(http, path(number)),
    mergePull: async (number, { method, headCommit, title }) => {
      const body = { merge_method: method, sha: headCommit, commit_title: title }
      const { sha, merged } = await http.send('PUT', `${path(number)}/merge`, body, Merged)
      if (!merged) throw new ForgeFailed('conflict', 'GitHub did not merge it.')
      return sha ?? null
    },
  }
}

function pullAt(pull: v.InferOutput<typeof Pull>, address: ForgeAddress): ForgePull {
  const isMerged = typeof pull.merged_at === 'string'
  return {
    number: pull.number,
    url: pull.html_url ?? `${address.webUrl}/${address.repository}/pull/${pull.number}`,
    title: pull.title,
    body: pull.body,
    state: isMerged ? 'merged' : pull.state,
    draft: pull.draft,
    base: pull.base.ref,
    branch: pull.head.ref,
    headCommit: pull.head.sha,
    reviewers: pull.requested_reviewers,
    labels: pull.labels.map(({ name }) => name),
    mergeable: pull.mergeable ?? null,
    ready: readiness[pull.mergeable_state] ?? null,
    // Before a merge, the field has GitHub's trial merge commit.
    mergeCommit: isMerged ? (pull.merge_commit_sha ?? null) : null,
    updatedAt: pull.updated_at,
  }
}

/** @returns the names that GitHub did not accept; the pull request exists anyway */
async function changeNames(
  http: ForgeHttp,
  repo: string,
  { number, labels, requested_reviewers }: v.InferOutput<typeof SimplePull>,
  change: PullChange,
): Promise<string[]> {
  const { addLabels: wanted = [], removeLabels: unwanted = [] } = change
  const path = `${repo}/issues/${number}/labels`
  const present = labels.map(({ name }) => name)
  const notTaken: string[] = []
  const added = wanted.filter(name => !present.some(each => isSame(each, name)))
  if (added.length > 0) notTaken.push(...(await ignoredFailure(http.send('POST', path, { labels: added }, Anything))))
  for (const name of present.filter(each => unwanted.some(other => isSame(each, other))))
    notTaken.push(...(await ignoredFailure(http.send('DELETE', `${path}/${encodeURIComponent(name)}`, {}, Anything))))
  return [...notTaken, ...(await changeReviewers(http, `${repo}/pulls/${number}`, requested_reviewers, change))]
}

/** Changes whether a pull request is a draft, which the REST API cannot do. */
async function setDraft(http: ForgeHttp, apiUrl: string, id: string, draft: boolean): Promise<void> {
  const name = draft ? 'convertPullRequestToDraft' : 'markPullRequestReadyForReview'
  const query = `mutation($id: ID!) { ${name}(input: { pullRequestId: $id }) { clientMutationId } }`
  const { errors } = await http.send('POST', graphUrl(apiUrl), { query, variables: { id } }, GraphAnswer)
  const [first] = errors
  if (first)
    throw new ForgeFailed(first.type === 'FORBIDDEN' ? 'refused' : 'invalid', `GitHub answered: ${first.message}`)
}

/** https://api.github.com/graphql, and on GitHub Enterprise Server /api/graphql next to /api/v3. */
export const graphUrl = (apiUrl: string): string => `${apiUrl.replace(/\/v3$/, '')}/graphql`
