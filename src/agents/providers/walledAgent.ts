/** How an agent works within the board's walls that otherwise builds a sandbox of its own, which fails there. */
export interface WalledAgent {
  /** The variable that leads to the board's wrapper of its program. Where the account has decided it, the agent cannot be walled in. */
  wrapper: string
  /** What it gets within walls, for the wrapper. */
  env: Readonly<Record<string, string>>
  /** The mode without a sandbox of its own, and those that become it. A mode that is not named stays. */
  mode: string
  replaced: readonly string[]
  /** The mode in which it changes nothing: there the walls see to that. */
  readOnlyMode: string
}

/** A profile of permissions with everything needs no sandbox, and asks people as before, which Codex's own mode of full access does not. */
export const codexWalledSettings = [
  'default_permissions="board"',
  'permissions={board={description="Within the sandbox of the board",filesystem={":root"="write"},network={enabled=true}}}',
]
export const codexWalled: WalledAgent = {
  wrapper: 'CODEX_PATH',
  env: { BOARD_CODEX_WALLED: '1' },
  mode: 'permission-profile:board',
  replaced: ['workspace-write', 'agent', 'auto', 'read-only'],
  readOnlyMode: 'read-only',
}
