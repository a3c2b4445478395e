import type { App } from '../../src/app.ts'
import { reachableAddress, schemeOf } from '../../src/config/server.ts'
import type { Call } from '../http/handlers.ts'

/** The server's address as browsers know it, without a slash at its end. */
export const serverUrl = ({ config }: Pick<App, 'config'>, { request }: Pick<Call, 'request'>): string =>
  config.publicUrl?.replace(/\/$/, '') ??
  `${schemeOf(config)}://${reachableAddress(config.host)}:${request.socket.localPort}`
