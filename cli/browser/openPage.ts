import { setTimeout as sleep } from 'node:timers/promises'
import type { ApiFailure } from '../../src/client/failures.ts'
import type { Connection } from '../../src/client/http.ts'
import { createClient, type Client } from '../../src/client/index.ts'
import type { Context } from '../context/context.ts'
import { readRuntime } from '../context/selectServer.ts'
import { Failure } from '../failures/failure.ts'
import type { Out } from '../output/output.ts'
import { listenOnLoopback } from './loopbackPage.ts'
import { openBrowser } from './openBrowser.ts'

/** The maximum time for a browser to start. */
const startMs = 20_000

/** Places of the board's page, as fragments of its address. */
export const pagePath = {
  home: '/',
  project: (projectId: string) => `/projects/${projectId}`,
  card: (projectId: string, cardId: string) => `/projects/${projectId}/cards/${cardId}`,
  /** @param since a review, to show only the changes since then */
  changes: (projectId: string, cardId: string, since?: string) =>
    `/projects/${projectId}/cards/${cardId}/changes${since === undefined ? '' : `/since/${since}`}`,
}

const addressOf = (url: string, path: string) => `${url.replace(/\/$/, '')}/#${path}`

/**
 * Shows a page of the web board. On a terminal it opens the browser, signed in as the caller; without a browser, it
 * prints a single-use sign-in address that is valid for a minute. In a pipe and with `--json` it prints the plain
 * address.
 */
export async function showPage(context: Context, path: string, print = false): Promise<void> {
  const { out, client, connection } = context
  const address = addressOf(connection.url, path)
  if (isPrinted(context, print)) return printAddress(context, address)
  const opened = await openPage(client, connection, path)
  if (opened.isOpen) return out.done(`Opened ${address}`)
  out.line(opened.address)
  out.done(noBrowser(opened.hasTicket ? ': it signs you in once, within a minute' : ''))
}

/** Shows a public document of the server in the browser. */
export async function showDocument(context: Context, path: string, print = false): Promise<void> {
  const { out, connection } = context
  const address = `${connection.url.replace(/\/$/, '')}${path}`
  if (isPrinted(context, print)) return printAddress(context, address)
  if (await openBrowser(address)) return out.done(`Opened ${address}`)
  out.line(address)
  out.done(noBrowser(''))
}

const isPrinted = ({ out }: Context, print: boolean): boolean => print || out.json || !out.terminal.stdout

const printAddress = async ({ out }: Context, url: string): Promise<void> =>
  out.json ? out.record({ url }, []) : out.line(url)

const noBrowser = (more: string): string =>
  `No browser was found. Open the address yourself${more}. Or set the variable BROWSER: board help environment`

type Opened = { isOpen: true } | { isOpen: false; address: string; hasTicket: boolean }
type Place = Pick<Connection, 'url' | 'token'>

/**
 * Opens an address with a ticket in the browser. Other accounts of the machine can see the arguments of programs,
 * so the browser gets the address of a loopback page, which redirects it.
 * @returns whether a browser opened the page
 */
export async function redirectBrowser(address: string): Promise<boolean> {
  const loopback = await listenOnLoopback()
  try {
    const isStarted = await openBrowser(`${loopback.url}?open`)
    const visit = isStarted && (await Promise.race([loopback.visit, delay(startMs)]))
    if (!visit) return false
    await visit.sendTo(address)
    return true
  } finally {
    loopback.close()
  }
}

/**
 * Opens a page in the browser, signed in by a ticket.
 * @throws ApiFailure, Unreachable, Failure if the server would also reject the page request
 */
export async function openPage(client: Client, place: Place, path: string): Promise<Opened> {
  const ticket = await issueTicket(client, place)
  if (await redirectBrowser(withTicket(place, path, ticket))) return { isOpen: true }
  // The first ticket has aged while this program waited for a browser that did not open.
  const fresh = ticket && (await issueTicket(client, place))
  return { isOpen: false, address: withTicket(place, path, fresh), hasTicket: fresh !== undefined }
}

const withTicket = ({ url }: Place, path: string, ticket: string | undefined): string =>
  addressOf(url, ticket === undefined ? path : `/ticket/${ticket}${path}`)

/** Returns undefined if there is no token, or if the token is an API key, which cannot create tickets. The page then shows the sign-in. */
async function issueTicket(client: Client, { token }: Place): Promise<string | undefined> {
  try {
    return (await client.auth.createTicket()).ticket
  } catch (error) {
    const { name, status } = error as Partial<ApiFailure>
    if (name !== 'ApiFailure') throw error
    if (status === 403 || (status === 401 && token === undefined)) return undefined
    if (status === 404 || status === 405)
      throw new Failure('failure', 'the server has no web page; it might be older than this command', {
        see: 'board version --check',
        cause: error,
      })
    throw error
  }
}

const delay = (ms: number): Promise<undefined> => sleep(ms, undefined, { ref: false })

/**
 * Opens the page of a server that this account runs on a data folder, with the token that the server stored there. Without a
 * terminal, the output can end up in a log, so it contains no ticket.
 */
export async function openOwnPage(out: Out, dataDir: string | undefined): Promise<void> {
  const place = readRuntime(dataDir === undefined ? process.env : { ...process.env, BOARD_DATA_DIR: dataDir })
  if (!place) return
  try {
    const opened = await openPage(createClient(place), place, pagePath.home)
    if (opened.isOpen) return
    out.done(
      out.terminal.stderr
        ? `No browser was found. Open this address yourself, within a minute: ${opened.address}`
        : `No browser was found. Open this address yourself: ${addressOf(place.url, pagePath.home)}`,
    )
  } catch (error) {
    out.warn(`The browser could not open the page: ${(error as Error).message}`)
  }
}
