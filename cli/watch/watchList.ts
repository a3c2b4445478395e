import { render } from 'ink'
import { createElement } from 'react'
import type { Connection } from '../../src/client/index.ts'
import { Live } from '../../src/client/socket.ts'
import type { Out } from '../output/output.ts'
import { createRefresher } from '../requests/refresher.ts'
import { RowList, type Rows, type RowListProps } from './RowList.tsx'

/** The interval of repeated reads, because ages change, and changes before the subscription cause no event. */
const readAgainMs = 10_000

/** The title of a list and its columns. */
export type Watched<Row> = Pick<RowListProps<Row>, 'title' | 'noun' | 'columns'>

/**
 * Shows a list and keeps it up to date until the person quits.
 * @param load reads the list; it is called again after every event of the project
 * @throws ApiFailure | Unreachable if the server rejects the subscription
 */
export async function watchList<Row>(
  { connection, out }: { connection: Connection; out: Out },
  projectId: string,
  watched: Watched<Row>,
  load: () => Promise<Rows<Row>>,
): Promise<void> {
  const state: Omit<RowListProps<Row>, 'terminal'> = { ...watched, live: true, ...(await load()) }
  const element = () => createElement(RowList<Row>, propsOf(out, state))
  const screen = render(element())
  const draw = (changes: Partial<RowListProps<Row>>) => {
    Object.assign(state, changes)
    screen.rerender(element())
  }
  const refreshed = createRefresher(async () => draw(await load()))
  const live = new Live(connection, {
    onEvent: refreshed.again,
    onState: ({ name }) => {
      if (name === 'waiting') draw({ live: false })
      if (name !== 'open') return
      draw({ live: true })
      refreshed.again()
    },
  })
  live.subscribe(projectId)
  const timer = setInterval(refreshed.again, readAgainMs)
  const redraw = () => draw({})
  process.stdout.on('resize', redraw)
  try {
    await Promise.race([screen.waitUntilExit(), live.done, refreshed.failed])
  } finally {
    process.stdout.off('resize', redraw)
    clearInterval(timer)
    live.close()
    screen.unmount()
  }
}

const propsOf = <Row>(out: Out, state: Omit<RowListProps<Row>, 'terminal'>): RowListProps<Row> => ({
  ...state,
  terminal: {
    ...out.terminal,
    // A terminal of unknown size reports 0.
    width: process.stdout.columns || out.terminal.width,
    height: process.stdout.rows || out.terminal.height,
  },
})
