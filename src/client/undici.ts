/** What is used of undici, as a module of its own: imported lazily by its own name, a bundled CommonJS package has no named exports. */
export { Agent, buildConnector, request, WebSocket } from 'undici'
