import * as v from 'valibot'
import type { ForgeAddress, ForgePull, PullChange, PullPart } from '../forge.ts'
import { Anything, Body, Branch, Count, Moment, Name, PageUrl, Sha, Title } from '../forgeFields.ts'
import type { ForgeHttp } from '../forgeHttp.ts'
import { asInvalid } from '../forgeFailures.ts'
import {
  closePull,
  changeReviewers,
  readLogin,
  RequestedReviewers,
  ignoredFailure,
  toRepository,
} from '../gitHubCompatible.ts'
import { pageSize } from './pageSize.ts'
import { isReady } from './protection.ts'

const Repository = v.object({
  default_branch: Branch,
  html_url: PageUrl,
  allow_merge_commits: v.optional(v.boolean()),
  allow_squash_merge: v.optional(v.boolean()),
  allow_rebase: v.optional(v.boolean()),
})
const Side = v.object({
  label: v.optional(Branch, ''),
  ref: Branch,
  sha: v.optional(v.string(), ''),
  repo_id: v.optional(v.number()),
})
const Label = v.object({ id: Count, name: Name })
const Pull = v.object({
  number: Count,
  html_url: PageUrl,
  title: Title,
  body: Body,
  state: v.picklist(['open', 'closed']),
  draft: v.optional(v.boolean()),
  merged: v.optional(v.boolean(), false),
  mergeable: v.optional(v.boolean(), false),
  merge_commit_sha: v.nullish(Sha),
  head: Side,
  base: Side,
  requested_reviewers: RequestedReviewers,
  labels: v.pipe(
    v.nullish(v.array(Label), []),
    v.transform(labels => labels ?? []),
  ),
  updated_at: Moment,
})
type Pull = v.InferOutput<typeof Pull>

/** The prefixes that Gitea and Forgejo recognize by default. */
const draftPrefix = /^\s*(?:wip:|\[wip\]|draft:|\[draft\])\s*/i
/** The number of pull requests that are searched for a branch, because the API of older versions cannot filter by branch. */
const maxSearched = 5 * pageSize

/** Pull requests of a repository on Gitea or Forgejo. */
export function giteaPulls(http: ForgeHttp, address: ForgeAddress): PullPart {
  const repo = `/repos/${address.repository}`
  const path = (number: number) => `${repo}/pulls/${number}`
  const toPull = async (pull: Pull): Promise<ForgePull> => ({
    ...pullAt(pull, address),
    ready: await isReady(http, repo, { ...pull, draft: isDraft(pull), base: pull.base.ref, head: pull.head.sha }),
  })
  const read = async (number: number) => toPull(await http.get(path(number), Pull))
  const find = (branch: string, state: 'open' | 'closed') => findNewest(http, repo, branch, state)
  return {
    account: () => readLogin(http),
    repository: async () => {
      const found = await http.get(repo, Repository)
      return toRepository(found, address, {
        merge: found.allow_merge_commits,
        squash: found.allow_squash_merge,
        rebase: found.allow_rebase,
      })
    },
    findPull: async branch => {
      const found = (await find(branch, 'open')) ?? (await find(branch, 'closed'))
      return found && toPull(found)
    },
    createPull: async request => {
      const { branch: head, base, body, labels: addLabels, reviewers: addReviewers } = request
      const made = await http
        .send('POST', `${repo}/pulls`, { head, base, body, title: draftTitle(request.title, request.draft) }, Pull)
        .catch(asInvalid)
      const notTaken = await changeNames(http, repo, made, { addLabels, addReviewers })
      return { pull: await read(made.number), notTaken }
    },
    readPull: read,
    updatePull: async (number, { title, body, base, draft, ...names }) => {
      const now = await http.get(path(number), Pull)
      const isTitled = title !== undefined || draft !== undefined
      const name = isTitled ? draftTitle(title ?? now.title, draft ?? isDraft(now)) : undefined
      if (isTitled || body !== undefined || base !== undefined)
        await http.send('PATCH', path(number), { title: name, body, base }, Anything)
      const notTaken = await changeNames(http, repo, now, names)
      return { pull: await read(number), notTaken }
    },
    closePull: number => closePull(http, path(number)),
    mergePull: async (number, { method, headCommit, title }) => {
      const body = { Do: method, head_commit_id: headCommit, MergeTitleField: title }
      await http.send('POST', `${path(number)}/merge`, body, Anything)
      return (await http.get(path(number), Pull)).merge_commit_sha ?? null
    },
  }
}

async function findNewest(
  http: ForgeHttp,
  repo: string,
  branch: string,
  state: 'open' | 'closed',
): Promise<Pull | undefined> {
  for (let page = 1; page * pageSize <= maxSearched; page++) {
    const query = { state, sort: 'recentupdate', page, limit: pageSize }
    const pulls = await http.get(`${repo}/pulls`, v.array(Pull), query)
    const own = pulls.filter(({ head, base }) => branchOf(head) === branch && head.repo_id === base.repo_id)
    if (own.length > 0) return own.reduce((newest, pull) => (pull.number > newest.number ? pull : newest))
    if (pulls.length === 0) break
  }
  return undefined
}

/** The pull request without `ready`, which requires further requests. */
function pullAt(pull: Pull, { webUrl, repository }: ForgeAddress): Omit<ForgePull, 'ready'> {
  const draft = isDraft(pull)
  const isOpen = pull.state === 'open'
  return {
    number: pull.number,
    url: pull.html_url ?? `${webUrl}/${repository}/pulls/${pull.number}`,
    title: pull.title.replace(draftPrefix, ''),
    body: pull.body,
    state: pull.merged ? 'merged' : pull.state,
    draft,
    base: branchOf(pull.base),
    branch: branchOf(pull.head),
    headCommit: pull.head.sha,
    reviewers: pull.requested_reviewers,
    labels: pull.labels.map(({ name }) => name),
    // Gitea reports a draft as not mergeable, regardless of its changes.
    mergeable: !isOpen || (draft && !pull.mergeable) ? null : pull.mergeable,
    mergeCommit: pull.merged ? (pull.merge_commit_sha ?? null) : null,
    updatedAt: pull.updated_at,
  }
}

/** Whether a pull request is a draft. Older versions show this only in the title. */
const isDraft = ({ draft, title }: Pull): boolean => draft ?? draftPrefix.test(title)

/** For a deleted branch, `ref` is a ref of the pull request. */
const branchOf = ({ label, ref }: Pull['head']): string => (ref.startsWith('refs/') && label !== '' ? label : ref)

/** @returns the names that Gitea did not accept; the pull request exists anyway */
async function changeNames(
  http: ForgeHttp,
  repo: string,
  { number, labels: present, requested_reviewers }: Pull,
  change: PullChange,
): Promise<string[]> {
  const { addLabels: wanted = [], removeLabels: unwanted = [] } = change
  const path = `${repo}/issues/${number}/labels`
  const notTaken: string[] = []
  if (wanted.length > 0) {
    const known = await http.list(`${repo}/labels`, v.array(Label), { limit: pageSize })
    const ids = known.filter(({ name }) => wanted.includes(name)).map(({ id }) => id)
    const unknown = wanted.filter(label => known.every(({ name }) => name !== label))
    notTaken.push(...unknown.map(label => `Gitea has no label ${label}.`))
    if (ids.length > 0) notTaken.push(...(await ignoredFailure(http.send('POST', path, { labels: ids }, Anything))))
  }
  for (const { id } of present.filter(({ name }) => unwanted.includes(name)))
    notTaken.push(...(await ignoredFailure(http.send('DELETE', `${path}/${id}`, {}, Anything))))
  return [...notTaken, ...(await changeReviewers(http, `${repo}/pulls/${number}`, requested_reviewers, change))]
}

const draftTitle = (title: string, draft: boolean): string => `${draft ? 'WIP: ' : ''}${title.replace(draftPrefix, '')}`
