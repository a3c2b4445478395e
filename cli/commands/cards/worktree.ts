import { Option, type Command } from 'commander'
import { resolve as absolute } from 'node:path'
import { ApiFailure } from '../../../src/client/failures.ts'
import { getCard, inItsProject, type Card, type CardPlace } from '../../cards/cardApi.ts'
import { openContext, type Context } from '../../context/context.ts'
import { Failure, usage } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import { git, hasBranch, isBranchName, findTopLevel, findWorktree } from '../../cards/localGit.ts'
import type { Column } from '../../output/output.ts'

interface Place extends Card {
  managed: boolean
}

const fields: Column<Place>[] = [
  { name: 'id', style: 'id', value: card => card.id },
  { name: 'useWorktree', value: card => card.useWorktree },
  { name: 'gitBranch', value: card => card.gitBranch },
  { name: 'managed', header: 'Created by the board', value: card => card.managed },
  { name: 'worktreePath', header: 'Worktree', value: card => card.worktreePath },
]

export function registerVerbs(cards: Command): void {
  const worktree = cards
    .command('worktree <card>')
    .summary("Show, attach, detach or remove a card's worktree")
    .description(
      "Show a card's branch and worktree, or attach your own worktree. The folder of the board's own worktree is shown only on the server's machine.",
    )
    .addOption(
      new Option(
        '--attach <folder>',
        "worktree of the project's repository to attach (folder on the server)",
      ).conflicts('detach'),
    )
    .option('--detach', 'detach the attached worktree, and keep its folder')
    .addOption(
      new Option(
        '--remove',
        'delete the worktree folder that the board created, unless it contains unsaved work',
      ).conflicts(['attach', 'detach']),
    )
    .action(async (id: string, { attach, detach, remove }: { attach?: string; detach?: boolean; remove?: boolean }) => {
      const context = await openContext(worktree)
      const card = await inItsProject(context, id, async place => {
        if (detach || remove)
          await context.client.cards.detachWorktree({ ...place, remove }).catch((error: unknown) => {
            throw remove ? removalFailure(error, id) : error
          })
        if (remove) context.out.done(`Removed the worktree of card ${id}.`)
        return withFolder(
          context,
          place,
          await (attach === undefined
            ? getCard(context, place)
            : context.client.cards.attachWorktree({ ...place, path: absolute(attach) })),
        )
      })
      await context.out.record(card, fields)
    })
  prints(worktree, 'cards.get', 'managed')
  example(
    worktree,
    'board cards worktree 12',
    'cd "$(board cards worktree 12 --jq .worktreePath)"',
    'board cards worktree 12 --attach ../my-fix',
    'board cards worktree 12 --detach',
    'board cards worktree 12 --remove',
  )

  const checkout = cards
    .command('checkout <card>')
    .summary("Check out a card's branch locally")
    .description(
      "Check out a card's branch in the repository of the current folder. A missing branch is fetched. If the branch is checked out in the card's worktree, the command checks out only its files. Local changes are never overwritten.",
    )
    .action(async (id: string) => {
      const context = await openContext(checkout)
      await inItsProject(context, id, async place => checkedOut(context, place, await getCard(context, place)))
    })
  example(checkout, 'board cards checkout 12', 'board cards checkout 12 && npm test')
}

/** Returns the path of a managed worktree. The API does not expose the path, but Git knows it on the same machine. */
async function withFolder(context: Context, place: CardPlace, card: Card): Promise<Place> {
  const { gitBranch } = card
  if (!gitBranch || !card.useWorktree || card.worktreePath) return { ...card, managed: false }
  const folders = [
    process.cwd(),
    ...(context.external ? [] : [(await context.client.projects.get({ id: place.projectId })).path]),
  ]
  for (const folder of folders) {
    const worktreePath = await findWorktree(folder, gitBranch)
    if (worktreePath !== undefined) return { ...card, managed: true, worktreePath }
  }
  return { ...card, managed: true }
}

async function checkedOut(context: Context, place: CardPlace, { id, gitBranch: branch }: Card): Promise<void> {
  if (!branch)
    throw new Failure('conflict', `card ${id} has no branch yet`, {
      hint: 'the agent creates the branch when it starts',
      see: `board agents view ${id}`,
    })
  const top = await findTopLevel(process.cwd())
  if (top === undefined) throw usage('the current folder is not in a Git repository')
  if (!(await isBranchName(top, branch))) throw new Failure('failure', 'the server sent an invalid branch name')
  const { code, stdout, stderr } = await git(top, 'status', '--porcelain', '--untracked-files=no')
  if (code !== 0) throw gitFailure(stderr)
  if (stdout !== '')
    throw new Failure('conflict', 'the current folder has local changes', { hint: 'commit or stash them first' })
  const isHere = await hasBranch(top, branch)
  const elsewhere = isHere ? await findWorktree(top, branch) : undefined
  if (elsewhere !== undefined && elsewhere !== top) await switchTo(top, '--detach', `refs/heads/${branch}`)
  else if (isHere) await switchTo(top, '--no-guess', branch)
  else await fetchBranch(top, id, branch)
  context.out.done(
    elsewhere !== undefined && elsewhere !== top
      ? `Checked out the files of ${branch}. The branch itself is in ${elsewhere}.`
      : `Checked out ${branch}.`,
  )
  await tellOfMore(context, place, top)
}

/** Gets the branch from the repository's remote. */
async function fetchBranch(top: string, id: string, branch: string): Promise<void> {
  const remotes = (await git(top, 'remote')).stdout.split('\n').filter(Boolean)
  const remote = remotes.includes('origin') ? 'origin' : remotes[0]
  const more = { hint: `its changes: board cards diff ${id} | git apply` }
  if (remote === undefined || remote.startsWith('-'))
    throw new Failure('notFound', `this repository has no branch ${branch}`, more)
  const { code } = await git(
    top,
    'fetch',
    '--quiet',
    '--no-tags',
    remote,
    `+refs/heads/${branch}:refs/remotes/${remote}/${branch}`,
  )
  if (code !== 0) throw new Failure('notFound', `neither this repository nor ${remote} has the branch ${branch}`, more)
  await switchTo(top, '--no-guess', '--create', branch, '--no-track', `refs/remotes/${remote}/${branch}`)
}

/** Git would replace ignored files, such as `.env`, without notice. */
const switchTo = (top: string, ...args: string[]): Promise<void> =>
  requireGit(top, 'switch', '--quiet', '--no-overwrite-ignore', ...args)

/** Warns of uncommitted work, because an agent might not commit its work, and no branch contains uncommitted work. */
async function tellOfMore({ client, out }: Context, place: CardPlace, top: string): Promise<void> {
  const more = await Promise.all([client.agents.get(place), client.agents.diff(place)]).catch((error: unknown) => {
    if (error instanceof ApiFailure) return undefined
    throw error
  })
  const base = more?.[0].baseCommit
  if (!more || !base || !/^[0-9a-f]{40,64}$/.test(base)) return
  const { code, stdout } = await git(
    top,
    'diff-tree',
    '-r',
    '--find-renames',
    '-l400',
    '--no-ext-diff',
    '--no-textconv',
    '--shortstat',
    base,
    'HEAD',
  )
  const numbers = ['file', 'insertion', 'deletion'].map(name =>
    Number(new RegExp(`(\\d+) ${name}`).exec(stdout)?.[1] ?? 0),
  )
  const { filesChanged, insertions, deletions } = more[1].stats
  if (code === 0 && [filesChanged, insertions, deletions].some((number, at) => number !== numbers[at]))
    out.warn(`card ${place.cardId} has uncommitted changes; to see all changes: board cards diff ${place.cardId}`)
}

async function requireGit(top: string, ...args: string[]): Promise<void> {
  const { code, stderr } = await git(top, ...args)
  if (code !== 0) throw gitFailure(stderr)
}

const maxFiles = 10

/** Git's first line, with the files that Git lists below it. */
function gitFailure(stderr: string): Failure {
  const [first = '', ...lines] = stderr.trim().split('\n')
  const files = lines.filter(line => line.startsWith('\t')).map(line => line.trim())
  const more = files.length > maxFiles ? `, and ${files.length - maxFiles} more` : ''
  const message = first.replace(/^(error|fatal): /, '') || 'Git failed'
  return new Failure(
    'conflict',
    message.endsWith(':') && files.length > 0 ? `${message} ${files.slice(0, maxFiles).join(', ')}${more}` : message,
  )
}

/** The API's message names a `force` that `--remove` does not have. */
const removalFailure = (error: unknown, id: string): unknown =>
  error instanceof ApiFailure && error.code === 'WORKTREE_DIRTY'
    ? new Failure('conflict', `the worktree of card ${id} contains work that exists nowhere else`, {
        hint: 'commit and merge the work, or discard it in the worktree, and try again',
        see: `board cards diff ${id}`,
      })
    : error
