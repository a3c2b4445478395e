import { setTimeout as delay } from 'node:timers/promises'
import type { LiveMessage } from '../../src/client/socket.ts'
import type { CardStatus } from '../../src/contract/fields.ts'
import type { EventData } from '../../src/contract/server/events.ts'
import type { NotificationKind } from '../../src/contract/automation/notifications.ts'
import type { Context } from '../context/context.ts'
import { isTerminal, writeStderr } from './streams.ts'
import { truncate, escapeControls } from './text.ts'

type Notification = EventData<'notification'>

/**
 * Shows notifications on the person's terminal according to their settings: with the bell, and with a desktop
 * notification or in the title.
 */
export interface Bell {
  /** Handles any message of the socket. */
  applyEvent(message: LiveMessage): void
  /** Waits briefly for pending notifications about cards that reached these statuses. */
  awaitNotifications(cards: ReadonlyArray<{ id: string; status: CardStatus }>): Promise<void>
}

const settleMs = 500
const pollMs = 10
const maxCells = 200
const kinds: Partial<Record<CardStatus, NotificationKind>> = {
  completed: 'agentCompleted',
  failed: 'agentFailed',
  waiting: 'agentWaiting',
}
const silence: Bell = { applyEvent: () => {}, awaitNotifications: async () => {} }

/**
 * Returns a silent bell if stdout or stderr is not a terminal, with `--quiet`, and on terminals that would print the
 * sequence as text.
 */
export function createBell({ client, external, out }: Context): Bell {
  if (!isTerminal(1) || !isTerminal(2) || out.quiet || process.env.TERM === 'dumb') return silence
  const heard = new Set<string>()
  return {
    applyEvent: ({ type, data }) => {
      if (type !== 'notification') return
      const notification = data as Notification
      if (notification.cardId !== null) heard.add(notification.cardId)
      writeStderr(
        `${notification.sound ? '\u0007' : ''}${notification.desktop ? notificationSequence(notification, process.env) : ''}`,
      )
    },
    awaitNotifications: async cards => {
      const wishes =
        external || cards.length === 0 ? undefined : await client.notifications.get().catch(() => undefined)
      if (!wishes || !(wishes.sound || wishes.desktop)) return
      const expected = cards.filter(({ status }) => kinds[status] && wishes[kinds[status]])
      for (
        const giveUpAt = performance.now() + settleMs;
        performance.now() < giveUpAt && expected.some(({ id }) => !heard.has(id));
      )
        await delay(pollMs)
    },
  }
}

/**
 * Returns a desktop notification if the terminal supports it, else a title change. The text cannot terminate either sequence.
 */
function notificationSequence({ cardTitle, message }: Notification, env: NodeJS.ProcessEnv): string {
  const text = truncate(escapeControls(`${cardTitle}: ${message}`), maxCells)
  const term = env.TERM ?? ''
  if (term === 'linux') return ''
  if (env.TMUX || term.startsWith('screen')) return command(`2;${text}`)
  if (/^(foot|rxvt)/.test(term)) return command(`777;notify;board;${text}`)
  if (
    ['iTerm.app', 'WezTerm', 'ghostty', 'WarpTerminal'].includes(env.TERM_PROGRAM ?? '') ||
    ['xterm-kitty', 'xterm-ghostty'].includes(term)
  )
    return command(`9;board: ${text}`)
  return command(`2;${text}`)
}

/** An operating system command of a terminal. */
const command = (text: string): string => `\u001b]${text}\u001b\\`
