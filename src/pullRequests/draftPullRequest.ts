import { pullRequestLimits, type PullRequestDraft } from '../contract/forges/pullRequests.ts'
import { Problem } from '../contract/errors.ts'
import { inOneLine } from '../cardWork/changes.ts'
import type { RepositoryWork } from '../cardWork/repositoryWork.ts'
import { ForgeFailed } from '../forge/forge.ts'
import { commitOf } from '../git/commits.ts'
import { requireGitRepository } from '../git/repository.ts'
import { readRequestTemplate } from '../git/requestTemplate.ts'
import type { OpenForge } from '../forge/openForge.ts'
import type { CardRow } from '../store/cards/cards.ts'
import type { Reader } from '../store/engine/database.ts'
import { readPullRequest } from '../store/forges/pullRequests.ts'
import { readLatestSession } from '../store/agents/sessions.ts'

export interface DraftDependencies {
  db: Reader
  /** The public address of the board, if it is known. */
  publicUrl: string | undefined
}
/** A card's work in one of its project's repositories, and the forge of that repository. */
export interface Work extends RepositoryWork {
  open: Pick<OpenForge, 'forge' | 'settings' | 'remote' | 'address'>
}
export type Draft = PullRequestDraft

/**
 * The draft of a card's pull request: the agent's summary and the repository's template, with a reference to the card at the end.
 * @throws Problem NOT_A_GIT_REPOSITORY, CONFLICT; ForgeFailed
 */
export async function draftPullRequest(
  dependencies: DraftDependencies,
  work: Work,
  branch = work.card.gitBranch,
): Promise<Draft> {
  const { card, repository, open, project } = work
  if (branch === null) throw new Problem('CONFLICT', 'The card has no branch yet. It gets one when its agent starts.')
  const known = await readPullRequest(dependencies.db, card.id, repository)
  const base = await baseOf(work)
  const { commonDir } = await requireGitRepository(project.path)
  const commit = await remoteCommit(commonDir, open.remote.name, base)
  const template = commit === undefined ? '' : await readRequestTemplate(commonDir, commit, open.address?.kind)
  const session = await readLatestSession(dependencies.db, card.id)
  const body = [session?.summary?.trim(), template].filter(Boolean).join('\n\n')
  return {
    title: titleOf(card),
    body: withCard(dependencies, card, body),
    base,
    branch,
    reviewers: [],
    labels: [],
    exists: known?.state === 'open',
  }
}

/** The content of a card's open pull request on its forge, or the draft of a new one. @throws as `draftPullRequest` does */
export async function draftOrPresent(dependencies: DraftDependencies, work: Work): Promise<Draft> {
  const known = await readPullRequest(dependencies.db, work.card.id, work.repository)
  if (known?.state !== 'open' || known.number === null) return draftPullRequest(dependencies, work)
  const pull = await work.open.forge.readPull(known.number)
  if (pull === 'unchanged') throw new ForgeFailed('odd', 'The forge did not return the content of the pull request.')
  const { title, body, base, branch, reviewers, labels } = pull
  return { title, body, base, branch, reviewers: [...reviewers], labels: [...labels], exists: true }
}

/**
 * The target branch of a pull request: the card's base if it exists on the forge, otherwise the project's setting, otherwise the forge's
 * default.
 */
async function baseOf({ card, project, open }: Work): Promise<string> {
  const { settings, remote, forge } = open
  const named = card.base?.startsWith(`${remote.name}/`) ? card.base.slice(remote.name.length + 1) : card.base
  if (named !== null && named !== card.gitBranch) {
    const { commonDir } = await requireGitRepository(project.path)
    if ((await onRemote(commonDir, remote.name, named)) !== undefined) return named
  }
  return settings.base ?? (await forge.repository()).defaultBranch
}

const titleOf = ({ title }: CardRow): string => truncate(inOneLine(title), pullRequestLimits.title)

/** A body with a reference to the card at its end. A body that is too long for a forge is cut. */
export function withCard({ publicUrl }: { publicUrl?: string }, card: CardRow, body: string): string {
  const name = `card ${card.id}`
  const line =
    publicUrl === undefined
      ? `Created from ${name} of the board.`
      : `Created from [${name}](${publicUrl.replace(/\/+$/, '')}/#/projects/${card.projectId}/cards/${card.id}) of the board.`
  const text = body.trimEnd()
  if (text.split('\n').includes(line)) return text
  return [truncate(text, pullRequestLimits.body - line.length - 2), line].filter(Boolean).join('\n\n')
}

const truncate = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`

const onRemote = (commonDir: string, remote: string, branch: string): Promise<string | undefined> =>
  commitOf(commonDir, `refs/remotes/${remote}/${branch}`)

/** The commit of a branch on the remote, as last fetched, or otherwise in the repository. */
const remoteCommit = async (commonDir: string, remote: string, branch: string): Promise<string | undefined> =>
  (await onRemote(commonDir, remote, branch)) ?? (await commitOf(commonDir, `refs/heads/${branch}`))
