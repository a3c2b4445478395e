import { Option, type Command } from 'commander'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { getCard, inItsProject, type CardPlace } from '../../cards/cardApi.ts'
import { findOpenSteps, stepsTaken } from '../../cards/mergeSteps.ts'
import { repositoryOption, repositoryWords } from '../../cards/repositoryOption.ts'
import { openContext, type Context } from '../../context/context.ts'
import { Failure } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import { askYesOrNo } from '../../input/prompt.ts'
import type { Column } from '../../output/output.ts'

type Merged = Output<Contract['agents']['merge']>
type Checked = Output<Contract['branches']['checkMerge']>[number]

const mergedFields: Column<Merged>[] = [
  { name: 'commit', style: 'id', value: merged => merged.commit },
  { name: 'into', value: merged => merged.into },
  { name: 'merged', value: merged => merged.merged },
  { name: 'repositories', hidden: true, value: merged => merged.repositories },
  { name: 'after', hidden: true, value: merged => merged.after },
]

const checkedColumns: Column<Checked>[] = [
  { name: 'repository', value: ({ repository }) => repositoryWords(repository) },
  { name: 'into', value: ({ into }) => into },
  { name: 'hasWork', header: 'Work', value: ({ hasWork }) => hasWork },
  { name: 'problem', hidden: true, value: ({ problem }) => problem },
]

interface MergeOptions {
  into?: string
  squash?: boolean
  repository?: string
  force?: boolean
}
/** The steps after the merge. An undefined step is left to the project, and can be offered. */
interface Steps {
  done?: boolean
  removeWorktree?: boolean
}

interface DryRun {
  dryRun?: boolean
}

export function registerVerbs(cards: Command): void {
  const merge = cards
    .command('merge <card>')
    .summary("Merge a card's branch")
    .description(
      "Merge a card's branch into another branch, in each repository that the card has changed. Uncommitted changes are committed first. If files conflict in one repository, the command changes nothing in any of them, and names the files. On a terminal, the command then offers to move the card to its done column and to remove its worktree, unless the project does both: board projects edit --after-merge.",
    )
    .option('--into <branch>', "target branch (default: the branch of the project's folder)")
    .option('--squash', 'squash into one commit')
    .addOption(repositoryOption('merge only in this repository; home is the repository of the project folder'))
    .option('--force', 'merge without the gates of the project (project admins only)')
    .option('--done', 'move the card to the first done column of its board afterwards')
    .option('--no-done', 'keep the card in its column, without a prompt')
    .option('--remove-worktree', "remove the card's worktree afterwards")
    .option('--no-remove-worktree', 'keep the worktree, without a prompt')
    .addOption(
      new Option('--dry-run', 'check whether the merge is possible, without changing anything').conflicts([
        'squash',
        'done',
        'removeWorktree',
        'force',
      ]),
    )
    .action(async (id: string, { done, removeWorktree, dryRun, ...options }: MergeOptions & Steps & DryRun) => {
      const context = await openContext(merge)
      await inItsProject(context, id, place =>
        dryRun ? checkMerge(context, place, options) : mergeCard(context, place, options, { done, removeWorktree }),
      )
    })
  prints(merge, 'agents.merge')
  example(
    merge,
    'board cards merge 12',
    'board cards merge 12 --into release --squash',
    'board cards merge 12 --done --remove-worktree',
    'board cards merge 12 --repository lib',
    'board cards merge 12 --dry-run',
  )
}

/** @throws Failure (conflict) if a merge is not possible */
async function checkMerge(context: Context, place: CardPlace, { into, repository }: MergeOptions): Promise<void> {
  const checked = await context.client.branches.checkMerge({ ...place, into, repository })
  for (const each of checked) {
    if (each.problem) continue
    const branch = checked.length > 1 ? `${each.into} in ${repositoryWords(each.repository)}` : each.into
    context.out.done(
      each.hasWork
        ? `Card ${place.cardId} can be merged into ${branch}.`
        : `${branch} already contains the work of card ${place.cardId}.`,
    )
  }
  await context.out.list(checked, checkedColumns, { empty: 'Nothing to merge.' })
  const problems = checked.flatMap(({ problem }) => (problem ? [problem.message] : []))
  if (problems.length > 0) throw new Failure('conflict', problems.join('\n'))
}

async function mergeCard(context: Context, place: CardPlace, options: MergeOptions, asked: Steps): Promise<void> {
  const { out } = context
  const send = ({ done: moveToDone, removeWorktree }: Steps, into = options.into) =>
    context.client.agents.merge({ ...place, ...options, into, moveToDone, removeWorktree })
  const merged = await send(asked)
  for (const each of merged.repositories) out.done(mergedWords(place.cardId, each, merged.repositories.length > 1))
  await out.record(merged, mergedFields)
  reportSteps(context, place.cardId, merged, asked)
  const wanted = await offerSteps(context, place, merged, asked)
  if (!wanted.done && !wanted.removeWorktree) return
  // The work is already merged: this request only runs the steps.
  const into = merged.repositories.length === 1 ? merged.into : undefined
  reportSteps(context, place.cardId, await send(wanted, into), wanted)
}

/** @throws Failure (conflict) if a step that the caller requested was not possible */
function reportSteps({ out }: Context, id: string, { after }: Merged, { done, removeWorktree }: Steps): void {
  for (const step of stepsTaken(id, after)) out.done(step)
  if (after.problem === null) return
  if (done || removeWorktree)
    throw new Failure('conflict', `card ${id} is merged, but a later step failed: ${after.problem}`)
  out.warn(after.problem)
}

/** Asks about the steps that neither the caller nor the project decided. */
async function offerSteps(context: Context, place: CardPlace, { after }: Merged, asked: Steps): Promise<Steps> {
  const isDecided = asked.done !== undefined && asked.removeWorktree !== undefined
  if (!context.mayAsk || context.out.json || isDecided) return {}
  const open = findOpenSteps(await getCard(context, place), after)
  const { cardId: id } = place
  const done =
    open.moveToDone &&
    asked.done === undefined &&
    (await askYesOrNo(context, `Move card ${id} to its done column?`, '--done'))
  const removeWorktree =
    open.removeWorktree &&
    asked.removeWorktree === undefined &&
    (await askYesOrNo(context, `Remove the worktree of card ${id}?`, '--remove-worktree'))
  return { done, removeWorktree }
}

function mergedWords(id: string, { repository, merged, into }: Merged['repositories'][number], isOneOfMany: boolean) {
  const branch = isOneOfMany || repository !== '' ? `${into} in ${repositoryWords(repository)}` : into
  return merged ? `Merged card ${id} into ${branch}.` : `${branch} already contains the work of card ${id}.`
}
