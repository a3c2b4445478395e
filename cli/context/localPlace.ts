import { setTimeout as sleep } from 'node:timers/promises'
import { sendJson } from '../../src/client/http.ts'
import type { Place, RenewablePlace } from '../../src/client/place.ts'
import { processMark } from '../../src/system/kernel.ts'
import type { Runtime } from '../../src/config/paths.ts'
import { fromRuntime, originOf, readRuntime, type ServerSelection } from './selectServer.ts'
import { Failure } from '../failures/failure.ts'

/** How long a server can listen before it writes daemon.json. */
const startingMs = 1000
const pollMs = 25

export const noServer = (cause?: unknown): Failure =>
  new Failure('unreachable', 'no server; run: board serve', { see: 'board help environment', cause })

/**
 * Checks that the server of daemon.json is alive before its token is sent. While its process lives, the port belongs to it. If
 * the process is not visible, the server is queried.
 * @throws Failure (unreachable)
 */
export async function checkLocal({ pid, mark, url, certificate }: Runtime): Promise<void> {
  if (mark !== undefined && processMark(pid) === mark) return
  try {
    const connection = { url, certificate, timeoutMs: 2000 }
    const health = (await sendJson(connection, 'GET', '/api/health')) as { status?: string } | undefined
    if (health?.status === 'ok') return
  } catch (error) {
    throw noServer(error)
  }
  throw noServer()
}

/**
 * Renews a connection with the local token after a restart, which changes the token and sometimes the port: daemon.json is read
 * and checked again. An explicit address is kept. With any other token, only the local certificate is renewed.
 */
export function renewalOf({ token, url, certificate }: ServerSelection): RenewablePlace['renew'] {
  if (token?.from !== fromRuntime && certificate === undefined) return undefined
  return async failed => {
    // A connection with another kind of token might be a copy of this one.
    if (!failed.token?.startsWith('svc_lt_')) return withNewCertificate(failed)
    const giveUpAtMs = performance.now() + (failed.wasRefused ? startingMs : 0)
    for (;;) {
      const runtime = readRuntime()
      const isNew =
        runtime &&
        (runtime.token !== failed.token || runtime.url !== failed.url || runtime.certificate !== failed.certificate)
      const mayMove = url?.from === fromRuntime || originOf(runtime?.url) === originOf(failed.url)
      if (isNew && mayMove && (await isRunning(runtime)))
        return {
          url: url?.from === fromRuntime ? runtime.url : failed.url,
          token: runtime.token,
          certificate: runtime.certificate,
        }
      if (performance.now() >= giveUpAtMs) return undefined
      await sleep(pollMs)
    }
  }
}

function withNewCertificate(failed: Place): Place | undefined {
  const runtime = readRuntime()
  const isNew = originOf(runtime?.url) === originOf(failed.url) && runtime?.certificate !== failed.certificate
  return isNew ? { ...failed, certificate: runtime?.certificate } : undefined
}

const isRunning = (runtime: Runtime): Promise<boolean> =>
  checkLocal(runtime).then(
    () => true,
    () => false,
  )
