import type { Place } from './place.ts'

/** Opens a WebSocket with the caller's token as a subprotocol, because a page can set no header and an address is logged. */
export const openWebSocket = async (url: string, { token }: Place): Promise<WebSocket> =>
  new WebSocket(url, token ? ['board', `bearer.${token}`] : ['board'])
