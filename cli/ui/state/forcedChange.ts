import { withMoveRefused } from '../../../src/boardModel/changes.ts'
import { confirm } from './actions.ts'
import { toUpdate, withNotice, type Cmd, type Forcible, type Model, type Msg, type Update } from './model.ts'

type Refused = Extract<Msg, { type: 'refused' }>

/** The error codes that `force` overrides: a full column, and a card that waits for other cards or for its start time. */
const forcibleCodes: ReadonlySet<string | undefined> = new Set(['COLUMN_FULL', 'CARD_BLOCKED'])

/** Returns a refused change with force. Returns undefined if force does not help. */
export const forcedOf = (cmd: Cmd, code: string | undefined): Forcible | undefined =>
  forcibleCodes.has(code) && (cmd.type === 'move' || cmd.type === 'run') && !cmd.force
    ? { ...cmd, force: true }
    : undefined

/**
 * Reverts a refused move, with the cursor on the card. Asks about changes that force can apply, and reports the other
 * errors.
 */
export function onRefused(model: Model, { moveId, selects, text, forced }: Refused): Update {
  const move = model.moves.find(({ id }) => id === moveId)
  const opened = model.opened?.card ? model.opened : undefined
  const selected = selects === undefined ? model.view.selected : new Set([...model.view.selected, selects])
  const back = {
    ...withMoveRefused(model, moveId),
    opened,
    view: { ...model.view, selected, ...(move && { wanted: move.cardId }) },
  }
  const asked = askedBefore(model)
  if (!forced || (model.dialog && !asked)) return toUpdate(withNotice(back, text, true))
  const cmds = [...(asked ?? []), forced]
  return confirm(back, `${text} ${anyway(cmds)}`, { type: 'force', cmds })
}

/** Returns the changes of the open question. Cards that are moved together are refused one after the other. */
const askedBefore = ({ dialog }: Model): readonly Forcible[] | undefined =>
  dialog?.kind === 'confirm' && dialog.action?.type === 'force' ? dialog.action.cmds : undefined

function anyway(cmds: readonly Forcible[]): string {
  const [what, where] = cmds[0]!.type === 'move' ? ['Put', ' there'] : ['Start', '']
  return `${what} ${cmds.length === 1 ? 'it' : `all ${cmds.length}`}${where} anyway?`
}
