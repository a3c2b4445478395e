import { withNotice, type Action, type MergeSteps, type Model, type Msg } from './model.ts'

/** Asks about a merge, with the branches that were read. */
export function askToMerge(model: Model, { branches, into }: Extract<Msg, { type: 'branches' }>): Model {
  if (model.dialog?.kind !== 'confirm' || model.dialog.action) return model
  const cardIds = branches.map(({ cardId }) => cardId)
  const [first] = branches
  const target = `into ${into ?? "the current branch of the project's folder"}`
  const question =
    branches.length === 1
      ? `Merge ${first!.branch === null ? 'the branch' : `the branch ${first!.branch}`} of card ${first!.cardId} ${target}, with a merge commit?`
      : `Merge the branches of ${branches.length} cards (${cardIds.join(', ')}) ${target}, with a merge commit each?`
  return { ...model, dialog: { kind: 'confirm', question, action: { type: 'merge', cardIds } } }
}

type AfterMerge = Extract<Action, { type: 'afterMerge' }>

/** Reports a merge and offers the steps that can follow it. Does not replace a dialog, except an offer for other cards. */
export function onMerged(model: Model, { text, steps }: Extract<Msg, { type: 'merged' }>): Model {
  const reported = withNotice(model, text)
  const offered = offeredSteps(model)
  if ((!steps.moveToDone && !steps.removeWorktree) || (model.dialog && !offered)) return reported
  const all = [...(offered ?? []), steps]
  const action: AfterMerge = { type: 'afterMerge', steps: all }
  return { ...reported, dialog: { kind: 'confirm', question: `${text} ${questionOf(all)}`, action } }
}

function offeredSteps({ dialog }: Model): readonly MergeSteps[] | undefined {
  return dialog?.kind === 'confirm' && dialog.action?.type === 'afterMerge' ? dialog.action.steps : undefined
}

function questionOf(all: readonly MergeSteps[]): string {
  const [first] = all
  const isOne = all.length === 1
  const cards = isOne ? `card ${first!.cardId}` : `cards ${all.map(({ cardId }) => cardId).join(', ')}`
  const move = `Move ${cards} to ${isOne ? 'its' : 'their'} done column`
  if (!all.some(({ removeWorktree }) => removeWorktree)) return `${move}?`
  if (!all.some(({ moveToDone }) => moveToDone)) return `Remove the ${isOne ? 'worktree' : 'worktrees'} of ${cards}?`
  return `${move}, and remove ${isOne ? 'its worktree' : 'their worktrees'}?`
}

/** An action that moves the cards and keeps their worktrees. */
export const onlyToDone = ({ steps }: AfterMerge): AfterMerge => ({
  type: 'afterMerge',
  steps: steps.filter(({ moveToDone }) => moveToDone).map(each => ({ ...each, removeWorktree: false })),
})

/** Whether the user can choose to move the cards and keep their worktrees. */
export const hasBothSteps = ({ steps }: AfterMerge): boolean =>
  steps.some(({ moveToDone }) => moveToDone) && steps.some(({ removeWorktree }) => removeWorktree)
