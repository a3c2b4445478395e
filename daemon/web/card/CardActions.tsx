import { startsLater } from '../../../src/boardModel/plan.ts'
import { useMemo } from 'react'
import { ApiFailure } from '../../../src/client/failures.ts'
import type { CardDetail, Column } from '../../../src/boardModel/cardCache.ts'
import { showError, showMessage } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { useLoad } from '../app/load.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import type { IconName } from '../ui/Icon.tsx'
import { Menu, type MenuItem } from '../ui/Menu.tsx'
import { useCanWork } from './canWork.ts'
import { useCard, useOpened } from './openedCard.ts'

const brokenOff: ReadonlySet<string> = new Set(['failed', 'interrupted', 'cancelled'])

/** The actions of a card: the most likely one as a button, the others in a menu. */
export function CardActions({ onGone }: { onGone: () => void }) {
  const { projectId } = useOpened()
  const card = useCard()
  const canWork = useCanWork(projectId)
  const columns = useLoad(() => client.columns.list({ projectId, boardId: card.boardId }), [projectId, card.boardId])
  const actions = useMemo(() => actionsOf(projectId, card, columns.value ?? [], onGone), [card, columns.value])
  if (!canWork) return null
  const { main, items, isHeldBack } = actions
  return (
    <>
      {isHeldBack && (
        <Button
          icon="check"
          about="Someone without permission to start agents created or changed this card. Activate the card so that columns can pull it"
          onClick={() => client.cards.activate({ projectId, cardId: card.id })}
        >
          Activate
        </Button>
      )}
      {main && (
        <Button isMain={main.isMain} isDanger={main.isDanger} icon={main.icon} about={main.about} onClick={main.run}>
          {main.label}
        </Button>
      )}
      <Menu label="Card actions" items={items} />
    </>
  )
}

interface MainAction extends Pick<MenuItem, 'label' | 'isDanger'> {
  icon: IconName
  run: () => void | Promise<unknown>
  about?: string
  isMain?: boolean
}

function actionsOf(projectId: string, card: CardDetail, columns: readonly Column[], onGone: () => void) {
  const place = { projectId, cardId: card.id }
  const { status, hasActiveAgent, archivedAt } = card
  const hasWorked = card.sessions.length > 0
  const { start, first } = startOf(place, card, columns)
  const cancel: MainAction = {
    label: 'Cancel',
    icon: 'stop',
    isDanger: true,
    about: 'Stops the agent. Changed files remain',
    run: () => client.agents.cancel(place),
  }
  const retry: MainAction = {
    label: 'Retry',
    icon: 'run',
    isMain: true,
    about: 'Resumes the latest session, which uses tokens',
    run: () => client.agents.retry({ ...place, force: isHeld(card) }),
  }
  const main = hasActiveAgent ? cancel : brokenOff.has(status) ? retry : hasWorked ? undefined : first
  const items: MenuItem[] = []
  const add = (isThere: boolean, item: MenuItem) => isThere && items.push(item)
  add(hasWorked && !hasActiveAgent && main !== retry, { label: 'Retry: resume the latest session', run: retry.run })
  add(hasWorked && !hasActiveAgent, {
    label: 'Relaunch: start a new session',
    run: () =>
      confirm({
        title: 'Start a new session?',
        text: 'The agent starts again with the card’s prompt, which uses tokens. Earlier messages stay in the transcript, and files are unchanged.',
        submit: 'Relaunch',
        isDanger: false,
        run: start,
      }),
  })
  add(hasActiveAgent, {
    label: 'Relay: hand over to a new session',
    run: () =>
      confirm({
        title: 'Hand over to a new session?',
        text: 'The running session ends, and a new one continues with a condensed context, which uses tokens.',
        submit: 'Relay',
        isDanger: false,
        run: () => client.agents.relay(place),
      }),
  })
  add(hasWorked, { label: 'Summarize the work', run: () => summarize(place) })
  add(card.columnType !== 'done', { label: 'Complete: move to done', run: () => client.cards.complete(place) })
  add(true, { label: 'Copy the link', run: () => copyAddress(place) })
  add(archivedAt === null, { label: 'Archive', separator: true, run: () => archive(place) })
  add(archivedAt !== null, { label: 'Restore', separator: true, run: () => client.cards.unarchive(place) })
  items.push({ label: 'Delete…', isDanger: true, run: () => askToDelete(place, card, onGone) })
  // In an active column, the main button starts the card. Without a pulling column, there is nothing to release the card for.
  const isHeldBack =
    !card.pullable && archivedAt === null && card.columnType === 'backlog' && columns.some(({ pull }) => pull)
  return { main, items, isHeldBack }
}

interface Place {
  projectId: string
  cardId: string
}

/** Whether it waits for other cards, or for its time. */
const isHeld = (card: CardDetail): boolean => card.blocked || startsLater(card, Date.now())

/**
 * Starts a new session, which moves a card outside of an active column into the first one. The first time, explains
 * this to the user.
 */
function startOf(place: Place, card: CardDetail, columns: readonly Column[]) {
  const active = columns.filter(({ columnType }) => columnType === 'active')
  const column = active.find(({ id }) => id === card.columnId) ?? active[0]
  const what = card.kind === 'terminal' ? 'its command' : 'its agent'
  const isThere = !column || column.id === card.columnId
  const where = isThere ? '' : ` The card moves to “${column.name}”.`
  const held = isHeld(card)
  const waits = card.blocked
    ? ` The card is blocked by open cards.`
    : held
      ? ` The card is scheduled to start later.`
      : ''
  const start = (): Promise<unknown> => {
    const force = held
    if (!isThere) return client.cards.move({ ...place, columnId: column.id, mustStart: true, force })
    return card.deferred ? client.cards.activate({ ...place, force }) : client.agents.relaunch({ ...place, force })
  }
  const first: MainAction = {
    label: held ? 'Start anyway' : card.deferred && isThere ? 'Activate' : 'Start',
    icon: 'run',
    isMain: !held,
    run: () =>
      confirm({
        title: `Start ${what}?`,
        text: `${waits}${where}${card.kind === 'terminal' ? ` The command is: ${card.command}` : ` ${card.agent ?? 'The agent of its column or project'} works on the card${card.useWorktree ? ' in a separate worktree' : ' in the project’s folder'}, which uses tokens.`}`.trim(),
        submit: held ? 'Start anyway' : 'Start',
        isDanger: false,
        run: start,
      }),
  }
  return { start, first: card.archivedAt === null && column ? first : undefined }
}

async function archive(place: Place): Promise<void> {
  await client.cards.archive(place)
  showMessage('Archived the card.', { label: 'Undo', run: () => void client.cards.unarchive(place).catch(showError) })
}

async function summarize(place: Place): Promise<void> {
  await client.agents.summary(place)
  showMessage('Summarized the work. The summary is under “Sessions”.')
}

async function copyAddress({ projectId, cardId }: Place): Promise<void> {
  const address = `${location.origin}${location.pathname}#/projects/${projectId}/cards/${cardId}`
  await navigator.clipboard.writeText(address)
  showMessage('Copied the link.')
}

function askToDelete(place: Place, card: CardDetail, onGone: () => void): void {
  const remove = async (force: boolean) => {
    await client.cards.delete({ ...place, force })
    onGone()
    showMessage(`Deleted “${card.title}”.`, {
      label: 'Undo',
      run: () => void client.cards.restore(place).catch(showError),
    })
  }
  const lost = [
    card.hasActiveAgent && 'Cancel the agent of the card first.',
    card.blocks.length > 0 &&
      card.columnType !== 'done' &&
      `${card.blocks.length} ${card.blocks.length === 1 ? 'card waits' : 'cards wait'} for this card and will keep waiting.`,
    card.sessions.length > 0 && `The transcript of ${card.sessions.length} sessions is also deleted.`,
    card.gitBranch !== null &&
      `The worktree is removed. The branch ${card.gitBranch} remains until the card is permanently deleted.`,
  ].filter(Boolean)
  confirm({
    title: 'Delete card?',
    text: ['You can restore the card for 30 days.', ...lost].join(' '),
    submit: 'Delete',
    run: () =>
      remove(false).catch((error: unknown) => {
        // The person has confirmed this: the server found no other data that would be lost.
        if (error instanceof ApiFailure && error.code === 'CARD_BLOCKS_OTHERS') return remove(true)
        if (!(error instanceof ApiFailure) || error.code !== 'WORKTREE_DIRTY') throw error
        // After this dialog has closed.
        setTimeout(() =>
          confirm({
            title: 'Delete card with unsaved work?',
            text: 'The worktree has uncommitted changes, or commits that exist nowhere else. This deletes them. The server keeps a patch in its data folder.',
            submit: 'Delete with changes',
            typed: card.title.length <= 40 ? card.title : undefined,
            run: () => remove(true),
          }),
        )
      }),
  })
}
