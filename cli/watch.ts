import { render } from 'ink'
import { createElement } from 'react'
import { Live } from '../src/client/socket.ts'
import type { CardPage } from './cardRoutes.ts'
import type { Context } from './context.ts'
import { exitOf } from './exit.ts'
import { CardList, type CardListProps } from './screens/CardList.tsx'

/** Ages grow, and what changed before the server knew that somebody watches is found too. */
const readAgainMs = 10_000

/**
 * Shows a list of cards and keeps it up to date until the person quits.
 * @param load reads the list; it is called again after every event of the project
 * @throws ApiFailure | Unreachable when the server refuses to tell of changes.
 */
export async function watchCards(context: Context, project: { id: string; name: string }, load: () => Promise<CardPage>): Promise<void> {
  const state: Omit<CardListProps, 'terminal'> = { title: project.name, live: true, ...await load() }
  const screen = render(createElement(CardList, propsOf(context, state)))
  const draw = (news: Partial<CardListProps>) => screen.rerender(createElement(CardList, propsOf(context, Object.assign(state, news))))
  const refreshed = refresher(async () => draw(await load()))
  const live = new Live(context.connection, {
    onEvent: refreshed.again,
    onState: ({ name }) => {
      if (name === 'waiting') draw({ live: false })
      if (name !== 'open') return
      draw({ live: true })
      refreshed.again()
    },
  })
  live.subscribe(project.id)
  const timer = setInterval(refreshed.again, readAgainMs)
  const resized = () => draw({})
  process.stdout.on('resize', resized)
  try {
    await Promise.race([screen.waitUntilExit(), live.done, refreshed.failed])
  } finally {
    process.stdout.off('resize', resized)
    clearInterval(timer)
    live.close()
    screen.unmount()
  }
}

const propsOf = ({ out }: Context, state: Omit<CardListProps, 'terminal'>): CardListProps =>
  ({ ...state, terminal: { ...out.terminal, width: process.stdout.columns ?? out.terminal.width, height: process.stdout.rows ?? out.terminal.height } })

/** Runs one refresh at a time, and one more after it for everything that came meanwhile. */
function refresher(refresh: () => Promise<void>): { again: () => void; failed: Promise<never> } {
  let fail: (error: unknown) => void = () => { /* set at once */ }
  const failed = new Promise<never>((_, reject) => { fail = reject })
  let running = false
  let wanted = false
  const again = async () => {
    wanted = true
    if (running) return
    running = true
    try {
      while (wanted) {
        wanted = false
        await refresh()
      }
    } catch (error) {
      if (exitOf(error) !== 'unreachable') fail(error)
    }
    running = false
  }
  return { again: () => { void again() }, failed }
}
