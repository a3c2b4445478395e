import { currentCard, layoutFor } from './board.ts'
import { toUpdate, type Cmd, type Model, type Msg, type Update } from './model.ts'
import { openedOf } from './opened.ts'
import { withRead } from '../../../src/boardModel/openedCard.ts'

/** The debounce of the preview. */
const previewAfterMs = 120
/** The number of latest messages in a preview. */
export const previewMessages = 30

/** Follows the cursor: reads the card once the cursor rests on it. */
export function followCursor(model: Model): Update {
  if (!model.hasPreview || model.opened || layoutFor(model).previewWidth === 0) return toUpdate(model)
  const card = currentCard(model)
  if (!card) return toUpdate(model.preview ? { ...model, preview: undefined } : model)
  const { preview } = model
  if (preview?.cardId !== card.id) {
    const tab = card.status === 'idle' ? 'prompt' : 'transcript'
    return toUpdate({ ...model, preview: { ...openedOf(card.id, tab), readAtMs: model.nowMs + previewAfterMs } })
  }
  if (preview.readAtMs === undefined || preview.readAtMs > model.nowMs) return toUpdate(model)
  const read: Cmd = { type: 'preview', cardId: card.id }
  return toUpdate({ ...model, preview: { ...preview, readAtMs: undefined } }, read)
}

export function onPreviewed(model: Model, { card, sessions, messages }: Extract<Msg, { type: 'previewed' }>): Model {
  const { preview } = model
  if (preview?.cardId !== card.id) return model
  const read = withRead(preview, { card, sessions, messages })
  return { ...model, preview: { ...read, older: 'none', readAtMs: preview.readAtMs } }
}
