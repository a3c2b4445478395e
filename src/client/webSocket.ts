import type { WebSocket } from 'undici'
import type { Place } from './place.ts'

/** Opens a WebSocket with the caller's token. Its events report the result. */
export async function openWebSocket(url: string, { token, certificate }: Place): Promise<WebSocket> {
  const { Agent, WebSocket } = await import('./undici.ts')
  const { pinnedTo } = await import('./certificatePin.ts')
  return new WebSocket(url, {
    headers: token ? { authorization: `Bearer ${token}` } : {},
    ...(certificate !== undefined && { dispatcher: new Agent({ connect: pinnedTo(certificate) }) }),
  })
}
