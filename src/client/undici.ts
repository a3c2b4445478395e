/**
 * The used exports of undici. A separate module, because a lazily imported CommonJS package has no named exports in the bundle.
 */
export { Agent, buildConnector, request, WebSocket } from 'undici'
