import { lastViews } from '../board/lastViews.ts'
import { useEffect, useRef } from 'react'
import { mergedWords } from '../../../src/boardModel/mergedWords.ts'
import { pullRequestWords } from '../../../src/boardModel/pullRequests.ts'
import { hrefOf } from '../app/router.ts'
import { useStore } from '../app/store.ts'
import { Away } from '../ui/Away.tsx'
import { Button } from '../ui/Button.tsx'
import { Icon } from '../ui/Icon.tsx'
import { Failure, useTitle } from '../ui/Page.tsx'
import { Status } from '../ui/Status.tsx'
import { CardActions } from './CardActions.tsx'
import { CardTabs, type CardPart } from './CardTabs.tsx'
import { CardTitle } from './CardTitle.tsx'
import { AsPage } from './Heading.tsx'
import { Landed } from './Landed.tsx'
import { OpenedProvider, useCard, useOpened, useOpenedCard, type OpenedCardStore } from './openedCard.ts'
import { keepLayout, readLayouts, useIsRead } from './panelStates.ts'
import { tooltip } from '../ui/tooltip.ts'
import { useWide } from '../ui/useWide.ts'

interface CardViewProps extends CardPart {
  projectId: string
  cardId: string
  isPage?: boolean
  onClose: () => void
}

/** A complete card: its settings, its transcript and its changes. */
export function CardView({ projectId, cardId, isPage = false, onClose, ...part }: CardViewProps) {
  const opened = useOpenedCard(projectId, cardId)
  const card = useStore(opened.state, state => state.card)
  const error = useStore(opened.state, state => state.error)
  const hasLayout = useIsRead(projectId)
  useTitle(card?.title ?? '')
  useEffect(() => {
    void readLayouts(projectId)
    return () => keepLayout(projectId, cardId)
  }, [projectId, cardId])
  if (!card || !hasLayout)
    return (
      <div className="opened-missing">
        {error === undefined ? (
          <p className="loading">Loading…</p>
        ) : (
          <Failure error={error} onRetry={() => opened.read()}>
            <Button onClick={onClose}>Back to the board</Button>
          </Failure>
        )}
      </div>
    )
  return (
    <OpenedProvider value={opened}>
      <AsPage value={isPage}>
        <Parts opened={opened} isPage={isPage} onClose={onClose} {...part} />
      </AsPage>
    </OpenedProvider>
  )
}

interface PartsProps extends CardPart {
  opened: OpenedCardStore
  isPage: boolean
  onClose: () => void
}

/** The head of a card and its tabs. With enough space, the properties are next to them. */
function Parts({ opened, isPage, onClose, ...part }: PartsProps) {
  const root = useRef<HTMLDivElement>(null)
  const isWide = useWide(root, 720)
  return (
    <div className={isPage ? 'opened-view as-page' : 'opened-view'} ref={root}>
      <Head isPage={isPage} onClose={onClose} />
      <CardTabs opened={opened} isWide={isWide} {...part} />
    </div>
  )
}

/** The ID, the status and the actions of a card. */
function Head({ isPage, onClose }: Required<Pick<CardViewProps, 'isPage' | 'onClose'>>) {
  const { projectId, cardId, state } = useOpened()
  const card = useCard()
  const isDeleted = useStore(state, now => now.isDeleted)
  const merged = mergedWords(card)
  return (
    <header className="opened-head">
      <div className="opened-bar">
        <div className="opened-facts">
          {isPage && (
            <a
              className="button plain"
              href={hrefOf({ name: 'board', projectId, boardId: card.boardId, ...lastViews.get(card.boardId) })}
            >
              <Icon name="back" /> Board
            </a>
          )}
          <span className="dim">
            #{cardId} · {card.columnName}
          </span>
          <Status status={card.status} reason={card.statusReason === card.status ? null : card.statusReason} />
          {merged && (
            <span className="merged" {...tooltip(`${card.mergedCommit}`)}>
              <Icon name="check" />
              {merged}
            </span>
          )}
          {card.issue && (
            <Away className="dim" url={card.issue.url}>
              Issue {card.issue.number}
              {card.issue.state === 'open' ? '' : `, ${card.issue.state}`}
            </Away>
          )}
          {card.pullRequest && (
            <Away className="dim" url={card.pullRequest.url}>
              Pull request {pullRequestWords(card.pullRequest)}
            </Away>
          )}
          {card.archivedAt !== null && <span className="label">archived</span>}
        </div>
        <CardActions onGone={onClose} />
        {!isPage && (
          <>
            <a
              className="button plain square wide-only"
              href={hrefOf({ name: 'card', projectId, cardId })}
              aria-label="Open on its own page"
              {...tooltip('Open on its own page', { isName: true })}
            >
              <Icon name="expand" />
            </a>
            <Button isPlain icon="close" label="Close card" keys="Esc" onClick={onClose} />
          </>
        )}
      </div>
      {isDeleted && (
        <p className="notice failure" role="alert">
          This card was deleted.
        </p>
      )}
      <CardTitle isPage={isPage} />
      <Landed />
    </header>
  )
}
