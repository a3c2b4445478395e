import type { Command } from 'commander'

export function register(_command: Command): void { /* filled next */ }
