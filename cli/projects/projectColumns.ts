import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import type { Column } from '../output/output.ts'
import { afterMergeText } from './afterMergeOption.ts'
import { approvalsText } from './approvals.ts'
import { describeLimits } from './usageLimitOptions.ts'

export type Project = Output<Contract['projects']['get']>

/** The fields of a project in lists. */
export const projectColumns: Column<Project>[] = [
  { name: 'id', style: 'id', align: 'right', value: project => project.id },
  { name: 'name', style: 'title', value: project => project.name },
  { name: 'path', style: 'text', value: project => project.path },
  { name: 'unreadCount', header: 'UNREAD', align: 'right', value: project => project.unreadCount },
  { name: 'lastOpenedAt', header: 'OPENED', style: 'time', value: project => project.lastOpenedAt },
]
export const projectFields: Column<Project>[] = [
  ...projectColumns,
  {
    name: 'repositories',
    style: 'text',
    value: ({ repositories }) => repositories.map(({ name, path }) => `${name}: ${path}`).join('; '),
  },
  { name: 'agent', value: project => project.agent },
  { name: 'profile', value: project => project.profile },
  { name: 'model', value: project => project.model },
  { name: 'mode', value: project => project.mode },
  { name: 'effort', value: project => project.effort },
  { name: 'approvalPolicy', header: 'Approvals', value: ({ approvalPolicy }) => approvalsText(approvalPolicy) },
  { name: 'credentialId', header: 'Credential', value: project => project.credentialId },
  { name: 'usageLimits', header: 'At a usage limit', value: project => describeLimits(project.usageLimits) },
  { name: 'onSilence', header: 'At silence', value: project => project.onSilence },
  { name: 'agentSlots', header: 'Slots', value: project => project.agentSlots },
  { name: 'sessionCards', header: 'Cards per session', value: project => project.sessionCards },
  { name: 'gateRounds', header: 'Rounds of gates', value: project => project.gateRounds },
  { name: 'land', header: 'Landing', value: project => project.land },
  { name: 'afterMerge', header: 'After a merge', value: project => afterMergeText(project.afterMerge) },
  { name: 'role', header: 'Your role', value: project => project.role },
  { name: 'organizationId', header: 'Organization', value: project => project.organizationId },
  { name: 'createdAt', header: 'Created', style: 'time', value: project => project.createdAt },
  { name: 'updatedAt', header: 'Updated', style: 'time', value: project => project.updatedAt },
]
