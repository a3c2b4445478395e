import {
  costsOfMove,
  costsOfRedo,
  costsOfUndo,
  lastDone,
  countStarts,
  cardsText,
  placesAtTop,
  placesBefore,
  questionBefore,
  withChange,
  withMoveDone,
  withMoveRefused,
  withMovesForced,
  withRedone,
  withUndone,
  type Change,
  type Costs,
  type Place,
} from '../../../src/boardModel/changes.ts'
import type { Card } from '../../../src/boardModel/cardCache.ts'
import type { ApiFailure } from '../../../src/client/index.ts'
import type { Move, ShownColumn } from '../../../src/boardModel/shownBoard.ts'
import { whyNotStarted } from '../../../src/client/agentStarts.ts'
import { announce, dismiss, showError, showMessage } from '../app/messages.ts'
import { reasonOf } from '../app/reasons.ts'
import { client } from '../app/session.ts'
import { untilReached } from '../app/untilReached.ts'
import { confirm } from '../ui/confirm.tsx'
import type { BoardSession } from './boardSession.ts'

const giveUpMs = 60_000

/** Runs a change, after a confirmation if it stops or starts agents unexpectedly. */
function confirmCosts(costs: Costs, run: () => void): void {
  const question = questionBefore(costs)
  if (question === undefined) return run()
  confirm({
    title: `${costs.what[0]!.toUpperCase()}${costs.what.slice(1)}`,
    text: question,
    submit: 'Continue',
    run: async () => run(),
  })
}

/** Moves cards. Asks for confirmation before it stops agents or starts more than one. */
function moveCards(session: BoardSession, cards: readonly Card[], places: readonly Place[], text: string): void {
  if (places.length === 0) return
  const state = session.state.get()
  const starting = countStarts(state, places)
  confirmCosts(costsOfMove(state, cards, places, text), () => {
    perform(session, { type: 'move', places, text })
    const more = starting === 0 ? '' : starting === 1 ? ' The agent starts.' : ` ${starting} agents start.`
    showDone(session, `Moved ${text}.${more}`)
  })
}

/** Moves cards to the top of another column. */
export function moveToColumn(session: BoardSession, cards: readonly Card[], target: ShownColumn): void {
  const moving = cards.filter(({ id }) => !target.ids.includes(id))
  moveCards(session, moving, placesAtTop(moving, target), `${cardsText(moving)} to ${target.name}`)
}

/** Moves cards before a card of a column, or to its end. */
export function moveBefore(
  session: BoardSession,
  cards: readonly Card[],
  target: ShownColumn,
  anchor: string | undefined,
): void {
  const places = placesBefore(cards, target, anchor)
  const isHere = cards.every(({ id }) => target.ids.includes(id))
  if (isHere && session.state.get().sort !== 'board')
    return announceAndSay('Cards are sorted. To move cards within a column, show the board order.')
  if (isHere && cards.length === 1 && target.ids[places[0]!.position] === cards[0]!.id) return
  moveCards(session, cards, places, `${cardsText(cards)} ${isHere ? 'within' : 'to'} ${target.name}`)
}

/** The ID of the message about the last change. Another change, or a refusal, replaces or closes it with its undo. */
export const changeMessage = 'change'
const refusal = (cardId: string): string => `card ${cardId} was rejected`

const showDone = (session: BoardSession, text: string): void => {
  showMessage(text, { label: 'Undo', run: () => undo(session) }, changeMessage)
  announce(text)
}

/** Archives or deletes cards. A deleted card can be restored for 30 days. */
export function removeCards(session: BoardSession, type: 'archive' | 'delete', cards: readonly Card[]): void {
  if (cards.length === 0) return
  const run = () => {
    const text = perform(session, { type, cardIds: cards.map(({ id }) => id) })
    if (text !== undefined) showDone(session, text)
  }
  const working = cards.filter(({ hasActiveAgent }) => hasActiveAgent).length
  if (type === 'archive') return confirmCosts({ what: `archive ${cardsText(cards)}`, leaving: cards }, run)
  confirm({
    title: `Delete ${cardsText(cards)}?`,
    text:
      `${cards.length === 1 ? `“${cards[0]!.title}”` : `${cards.length} cards`} and the comments and messages of ` +
      `${cards.length === 1 ? 'the card' : 'the cards'} can be restored for 30 days.` +
      (working > 0 ? ` ${working === 1 ? 'An agent is' : `${working} agents are`} running and will be stopped.` : ''),
    submit: 'Delete',
    run: async () => run(),
  })
}

/** Applies a change immediately and on the server. A new change clears the redo list. */
function perform(session: BoardSession, change: Change): string | undefined {
  const { state, moves, text } = withChange({ ...session.state.get(), redos: [] }, session.currentBoard(), change)
  session.set(() => ({ ...state, selected: new Set() }))
  carryOut(session, change.type, moves)
  return text
}

/** Undoes the last change. Asks for confirmation before it stops or starts an agent. */
export function undo(session: BoardSession): void {
  const state = session.state.get()
  const last = lastDone(state)
  if (!last) return announceAndSay('Nothing to undo.')
  confirmCosts(costsOfUndo(state, last), () => {
    const result = withUndone(session.state.get())
    if (!result) return
    session.set(() => result.state)
    carryOut(session, 'move', result.moves)
    for (const place of result.back?.places ?? []) void bringBack(session, result.back!.type, place).catch(showError)
    announceAndSay(result.text ?? '')
  })
}

/** Redoes the last undone change. Asks for confirmation before it stops or starts an agent. */
export function redo(session: BoardSession): void {
  const state = session.state.get()
  const next = state.redos.at(-1)
  if (!next) return announceAndSay('Nothing to redo.')
  confirmCosts(costsOfRedo(state, next), () => {
    const result = withRedone(session.state.get(), session.currentBoard())
    if (!result) return
    session.set(() => result.state)
    carryOut(session, result.change.type, result.moves)
    announceAndSay(result.text ?? '')
  })
}

function announceAndSay(text: string): void {
  showMessage(text, undefined, changeMessage)
  announce(text)
}

function carryOut(session: BoardSession, type: Change['type'], moves: readonly Move[]): void {
  dismiss(changeMessage)
  for (const { cardId } of moves) dismiss(refusal(cardId))
  const current = session.cursor.cardId
  const followed = moves.find(({ cardId }) => cardId === current)
  if (type === 'move' && followed) session.cursor.focusCard(followed.cardId)
  for (const move of moves)
    void session.changes(() => send(session, type, move)).catch((error: unknown) => revertMove(session, move, error))
}

/** Moves a refused card back and reports the reason. For a full column, offers to force the move. */
function revertMove(session: BoardSession, move: Move, error: unknown): void {
  session.set(state => withMoveRefused(state, move.id))
  dismiss(changeMessage)
  const { code } = error as Partial<ApiFailure>
  if (code === 'COLUMN_FULL') return offerForce(session, move, reasonOf(error))
  const text = `Card ${move.cardId} was not moved: ${reasonOf(error)}`
  showError(
    new Error(text),
    refusal(move.cardId),
    code === 'GATE_NOT_PASSED' ? runGates(session, move.cardId) : undefined,
  )
  announce(text)
}

/** The button that runs the gates of a card which has not passed them. */
const runGates = ({ projectId }: BoardSession, cardId: string) => ({
  label: 'Run gates',
  run: () =>
    void client.proofs
      .check({ projectId, cardId })
      .then(() => showMessage(`The gates of card ${cardId} run.`), showError),
})

/** The moves into a full column since the last question. One question covers all of them. */
let overfull: Move[] = []
const gatherMs = 300

function offerForce(session: BoardSession, move: Move, reason: string): void {
  overfull.push(move)
  if (overfull.length > 1) return
  setTimeout(() => {
    const moves = overfull
    overfull = []
    const many = moves.length === 1 ? `Card ${moves[0]!.cardId} is` : `${moves.length} cards are`
    const waits = moves.some(({ cardId }) => session.state.get().cache.cards.get(cardId)?.blocked)
    confirm({
      title: 'The column is full',
      text: `${many} not moved. ${reason}${waits ? ' Blocked cards would also start.' : ''}`,
      submit: 'Move anyway',
      isDanger: false,
      run: async () => {
        session.set(state => withMovesForced(state, moves))
        const sent = moves.map(move => session.changes(() => send(session, 'move', move, true)))
        const results = await Promise.allSettled(sent)
        for (const [at, { status }] of results.entries())
          if (status === 'rejected') session.set(state => withMoveRefused(state, moves[at]!.id))
        await Promise.all(sent)
        showDone(session, `Moved ${cardsText(moves.map(({ cardId: id }) => ({ id })))}.`)
      },
    })
  }, gatherMs)
}

async function send(session: BoardSession, type: Change['type'], move: Move, force?: true): Promise<void> {
  const place = { projectId: session.projectId, cardId: move.cardId }
  const untilMs = Date.now() + giveUpMs
  const retryWork = <T>(work: () => Promise<T>) => untilReached(work, () => Date.now() > untilMs)
  const done = (version: number) => session.set(state => withMoveDone(state, move.id, version))
  // After the server has confirmed the deletion, no version of the card follows.
  if (type === 'delete') {
    await retryWork(() => client.cards.delete(place))
    return done(Infinity)
  }
  if (type === 'archive') return done((await retryWork(() => client.cards.archive(place))).version)
  const card = await retryWork(() =>
    client.cards.move({ ...place, columnId: move.columnId!, position: move.position, force }),
  )
  done(card.version)
  const reason = whyNotStarted(card)
  if (reason !== undefined) showError(new Error(`No agent started on card ${card.id}: ${reason}`))
}

const bringBack = (session: BoardSession, type: 'unarchive' | 'restore', { cardId, columnId, position }: Place) =>
  session.changes(async () => {
    const place = { projectId: session.projectId, cardId }
    await client.cards[type](place)
    await client.cards.move({ ...place, columnId, position })
  })
