import * as v from 'valibot'
import { JsonObject } from '../fields.ts'
import { ofProject } from '../notFound.ts'
import { del, get, put, viewer } from '../route.ts'

/** Layouts by card ID. Their content is the client's: the server stores it and does not read it. */
const PanelStates = v.record(v.string(), v.unknown())

export const panelStates = {
  get: get('/api/projects/{projectId}/panel-states', {
    notFound: ofProject,
    who: viewer(),
    summary: "Get the caller's panel layouts for a project's cards",
    output: PanelStates,
  }),
  set: put('/api/projects/{projectId}/panel-states', {
    notFound: ofProject,
    who: viewer(),
    summary: "Replace the caller's panel layouts for the cards in the body",
    input: JsonObject,
    output: PanelStates,
  }),
  delete: del('/api/projects/{projectId}/panel-states/{cardId}', {
    notFound: { ...ofProject, cardId: 'PANEL_STATE_NOT_FOUND' },
    who: viewer(),
    summary: "Delete the caller's panel layout for a card",
  }),
}
