import { memo, useEffect, useLayoutEffect, useRef } from 'react'
import type { Card } from '../../../src/boardModel/cardCache.ts'
import { mergedWords } from '../../../src/boardModel/mergedWords.ts'
import { showsAgent } from '../../../src/boardModel/nextAction.ts'
import { pullRequestSign, pullRequestWords } from '../../../src/boardModel/pullRequests.ts'
import { hrefOf } from '../app/router.ts'
import { useStore } from '../app/store.ts'
import { Fact } from '../ui/Fact.tsx'
import { Icon } from '../ui/Icon.tsx'
import { Labels, Status } from '../ui/Status.tsx'
import { clickCard, editing } from './actions.ts'
import type { BoardSession } from './boardSession.ts'
import { CardMenu } from './CardMenu.tsx'
import { drag } from './drag.ts'
import { dragging } from './loadDragging.ts'
import { TileAgent } from './TileAgent.tsx'
import { TileTitle } from './TileTitle.tsx'
import { TilePeople, TilePlan } from './TilePlan.tsx'
import { tooltip } from '../ui/tooltip.ts'

interface TileProps {
  session: BoardSession
  columnId: string
  cardId: string
  /** The Tab key moves the focus to it in its column. */
  isCurrent: boolean
}

/** A card on the board. It renders again only when the card changes. */
export const CardTile = memo(function CardTile({ session, columnId, cardId, isCurrent }: TileProps) {
  const card = useStore(session.state, ({ cache }) => cache.cards.get(cardId))
  const isSelected = useStore(session.state, ({ selected }) => selected.has(cardId))
  const isUnderWay = useStore(session.state, ({ moves }) =>
    moves.some(move => move.cardId === cardId && move.doneVersion === undefined),
  )
  const isDragged = useStore(drag, now => now?.cardIds.includes(cardId) ?? false)
  const isWanted = useStore(session.cursor.state, ({ wanted }) => wanted === cardId)
  const isEdited = useStore(editing, id => id === cardId)
  const tile = useRef<HTMLDivElement>(null)
  const link = useRef<HTMLAnchorElement>(null)
  const isThere = card !== undefined
  const columnType = useStore(session.state, ({ cache }) => cache.columns.find(({ id }) => id === columnId)?.columnType)
  const loaded = useStore(dragging)
  useEffect(
    () => (isThere && loaded ? loaded.dragSource(tile.current!, session, cardId) : undefined),
    [session, cardId, isThere, loaded],
  )
  useLayoutEffect(() => {
    if (!isWanted || !link.current) return
    link.current.focus({ preventScroll: true })
    tile.current!.closest('.column')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [isWanted, isThere])
  if (!card) return null
  const names = [
    'card',
    card.unread && 'unread',
    isSelected && 'selected',
    isUnderWay && 'under-way',
    isDragged && 'dragged',
  ]
  return (
    <div
      ref={tile}
      className={names.filter(Boolean).join(' ')}
      onClick={event => clickCard(session, columnId, cardId, event)}
    >
      <div className="card-head">
        {isEdited ? (
          <TileTitle session={session} card={card} />
        ) : (
          <a
            ref={link}
            className="card-title"
            href={hrefOf({ name: 'card', projectId: session.projectId, cardId })}
            tabIndex={isCurrent ? 0 : -1}
            draggable={false}
            aria-describedby={`about-${cardId}`}
            onFocus={() => session.cursor.onFocus(columnId, cardId)}
          >
            {card.title}
          </a>
        )}
        <CardMenu session={session} card={card} isCurrent={isCurrent} tile={tile} />
      </div>
      <About card={card} columnType={columnType} isSelected={isSelected} />
      {showsAgent(card, columnType) && <TileAgent session={session} card={card} isCurrent={isCurrent} />}
    </div>
  )
})

/** The status of a card in brief. */
function About({ card, columnType, isSelected }: { card: Card; columnType?: string; isSelected: boolean }) {
  const isAgentShown = showsAgent(card, columnType)
  const {
    id,
    labels,
    status,
    statusReason,
    unread,
    reviewState,
    reviewRound,
    autoMode,
    deferred,
    blocked,
    kind,
    pullRequest,
  } = card
  const merged = mergedWords(card)
  return (
    <div className="card-about" id={`about-${id}`}>
      <span className="dim">#{id}</span>
      {isSelected && <span className="mark">selected</span>}
      {unread && <span className="mark">new</span>}
      {status !== 'idle' && !isAgentShown && <Status status={status} reason={statusReason} />}
      <TilePlan card={card} columnType={columnType} />
      {kind === 'terminal' && <span className="dim">terminal</span>}
      {autoMode && <span className="dim">auto</span>}
      {blocked && (
        <span className="fact">
          <Icon name="lock" />
          waits
        </span>
      )}
      {deferred && status === 'idle' && <span className="dim">not started</span>}
      {merged && (
        <span className="merged">
          <Icon name="check" />
          {merged}
        </span>
      )}
      {reviewState && (
        <span className="fact review-state">
          <Icon name="eye" />
          {`review ${reviewRound}: ${reviewState.replaceAll('_', ' ')}`}
        </span>
      )}
      {pullRequest && (
        <Fact name={pullRequestWords(pullRequest)} kind={`pull pull-${pullRequestSign(pullRequest)}`}>
          <Icon name="branch" />#{pullRequest.number ?? '…'} {pullRequest.draft ? 'draft' : pullRequest.state}
        </Fact>
      )}
      <Labels labels={labels} />
      <More card={card} isAgentShown={isAgentShown} />
    </div>
  )
}

/** The card's own agent, its parts, comments and attachments, and its assignees or creator. */
function More({ card, isAgentShown }: { card: Card; isAgentShown: boolean }) {
  const { agent, attachmentCount, children, commentCount } = card
  return (
    <>
      {agent && !isAgentShown && (
        <span className="fact" {...tooltip(`agent: ${agent}`)}>
          <Icon name="agent" />
          {agent}
        </span>
      )}
      {children.total > 0 && (
        <Fact name={`${children.done} of ${children.total} parts done`}>
          <Icon name="check" />
          {children.done}/{children.total}
        </Fact>
      )}
      {commentCount > 0 && (
        <Fact name={`${commentCount} comment${commentCount === 1 ? '' : 's'}`}>
          <Icon name="message" />
          {commentCount}
        </Fact>
      )}
      {attachmentCount > 0 && (
        <Fact name={`${attachmentCount} attachment${attachmentCount === 1 ? '' : 's'}`}>
          <Icon name="attach" />
          {attachmentCount}
        </Fact>
      )}
      <TilePeople card={card} />
    </>
  )
}
