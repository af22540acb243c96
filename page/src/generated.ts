// Generated from crates/page-protocol. Do not edit: cargo run -p panelot-page-protocol --example generate-ts

export const PROTOCOL_ID = "panelot/content-v1";
export const SCHEMA_HASH = "4906f13a46e1f4444d01c83863fea71bd475abbca01cca5faa35094182d1b872";
export const REF_PATTERN = "^[a-z0-9]{4}-[1-9][0-9]{0,8}$";
export const BUDGET = {"arrayLen":50000,"depth":64,"keys":16384,"stringUnits":16777216,"values":150000} as const;
export const TYPE_TEXT_UNITS_MAX = 100000;
export const OPTION_UNITS_MAX = 1000;
export const URL_UNITS_MAX = 8192;
export const NAME_UNITS_MAX = 400;
export const VALUE_UNITS_MAX = 400;
export const TEXT_UNITS_MAX = 2000;
export const MESSAGE_UNITS_MAX = 1000;
export const NODES_MAX = 5000;
export const TEXT_NODES_MAX = 3000;
export const OPTIONS_MAX = 100;
export const OPTIONS_TOTAL_MAX = 2000;
export const DEPTH_MAX = 64;
export const FRAME_DEPTH_MAX = 4;
export const READY_WAIT_MS_MAX = 1500;
export const QUIET_MS = 200;
export const SETTLE_MS_MAX = 2500;

export type Action =
  | { type: "readPage" }
  | { target: ElementRef; type: "click" }
  | { clear: boolean; submit: boolean; target: ElementRef; text: string; type: "type" }
  | { choice: OptionChoice; target: ElementRef; type: "selectOption" };

export type ActionFailure = { code: FailureCode; coveredBy?: Subject | null; message: string; options?: Array<OptionFacts>; reach: Reach; subject?: Subject | null; value?: FieldValue | null };

export type ActionResult =
  | { page: PageFacts; type: "page" }
  | { observed: Observed; type: "clicked" }
  | { exact: boolean; observed: Observed; submission: Submission; type: "typed"; value: FieldValue }
  | { observed: Observed; option: OptionFacts; type: "selected" };

export type Answer =
  | { kind: "pong"; origin: string }
  | { found: boolean; kind: "cancelled" }
  | { kind: "done"; result: ActionResult }
  | { failure: ActionFailure; kind: "failed" };

export type EffectSeen =
  | "navigationStarted"
  | "addressChanged"
  | "formSubmitted"
  | "formRefused"
  | "stateChanged"
  | "contentChanged"
  | "focusMoved"
  | "subjectRemoved";

export type ElementRef = string;

export type FailureCode =
  | "stale_ref"
  | "detached"
  | "not_visible"
  | "not_stable"
  | "covered"
  | "disabled"
  | "not_editable"
  | "read_only"
  | "secret_field"
  | "not_a_select"
  | "no_such_option"
  | "ambiguous_option"
  | "option_disabled"
  | "not_effective"
  | "unsupported_frame"
  | "origin_changed"
  | "protocol_mismatch"
  | "timeout"
  | "cancelled"
  | "internal";

export type FieldValue =
  | { text: string; type: "text" }
  | { filled: boolean; type: "secret" };

export type FrameFacts =
  | "read"
  | "otherOrigin"
  | "tooDeep";

export type Node =
  | { depth: number; inViewport?: boolean; text: string; type: "text" }
  | { depth: number; description?: string; frame?: FrameFacts | null; href?: string; inViewport?: boolean; kind?: string; name?: string; options?: Array<OptionFacts>; optionsLeftOut?: number; rect?: Rect | null; ref?: ElementRef | null; role: string; states?: Array<State>; type: "element"; value?: FieldValue | null };

export type Observed = { announcements?: Array<string>; effects?: Array<EffectSeen>; settled: boolean; states?: Array<State>; subject: Subject; url: string };

export type OptionChoice =
  | { by: "value"; value: string }
  | { by: "label"; label: string };

export type OptionFacts = { disabled?: boolean; label: string; selected?: boolean; value?: string | null };

export type PageFacts = { controlsLeftOut?: number; leftOut?: number; loading: boolean; nodes: Array<Node>; title: string; url: string; viewport: Viewport };

export type Reach =
  | "notStarted"
  | "mayHaveHappened";

export type Rect = { height: number; width: number; x: number; y: number };

export type Request = { body: RequestBody; deadlineAt: Timestamp; documentId?: string | null; expectedOrigin: string; protocol: "panelot/content-v1"; requestId: RequestId; schemaHash: string };

export type RequestBody =
  | { action: Action; kind: "execute" }
  | { cancelRequestId: RequestId; kind: "cancel" }
  | { kind: "ping" };

export type RequestId = string;

export type Response = { body: Answer; protocol: "panelot/content-v1"; requestId: RequestId; schemaHash: string };

export type State =
  | "checked"
  | "unchecked"
  | "mixed"
  | "selected"
  | "pressed"
  | "notPressed"
  | "expanded"
  | "collapsed"
  | "disabled"
  | "readOnly"
  | "required"
  | "invalid"
  | "focused"
  | "current"
  | "multiline"
  | "modal"
  | "notVisible";

export type Subject = { name: string; role: string };

export type Submission =
  | "notAsked"
  | "submitted"
  | "takenByPage"
  | "refused"
  | "noForm";

export type Timestamp = number;

export type Viewport = { height: number; pageHeight: number; scrollY: number; width: number };

/** JSON Schema that every request is checked against before anything else is looked at. */
export const REQUEST_SCHEMA = {"$defs":{"Action":{"oneOf":[{"additionalProperties":false,"properties":{"type":{"const":"readPage","type":"string"}},"required":["type"],"type":"object"},{"additionalProperties":false,"properties":{"target":{"$ref":"#/$defs/ElementRef"},"type":{"const":"click","type":"string"}},"required":["type","target"],"type":"object"},{"additionalProperties":false,"properties":{"clear":{"type":"boolean"},"submit":{"type":"boolean"},"target":{"$ref":"#/$defs/ElementRef"},"text":{"maxLength":100000,"type":"string"},"type":{"const":"type","type":"string"}},"required":["type","target","text","clear","submit"],"type":"object"},{"additionalProperties":false,"properties":{"choice":{"$ref":"#/$defs/OptionChoice"},"target":{"$ref":"#/$defs/ElementRef"},"type":{"const":"selectOption","type":"string"}},"required":["type","target","choice"],"type":"object"}]},"ElementRef":{"pattern":"^[a-z0-9]{4}-[1-9][0-9]{0,8}$","type":"string"},"OptionChoice":{"oneOf":[{"additionalProperties":false,"properties":{"by":{"const":"value","type":"string"},"value":{"maxLength":1000,"type":"string"}},"required":["by","value"],"type":"object"},{"additionalProperties":false,"properties":{"by":{"const":"label","type":"string"},"label":{"maxLength":1000,"type":"string"}},"required":["by","label"],"type":"object"}]},"RequestBody":{"oneOf":[{"additionalProperties":false,"properties":{"action":{"$ref":"#/$defs/Action"},"kind":{"const":"execute","type":"string"}},"required":["kind","action"],"type":"object"},{"additionalProperties":false,"properties":{"cancelRequestId":{"$ref":"#/$defs/RequestId"},"kind":{"const":"cancel","type":"string"}},"required":["kind","cancelRequestId"],"type":"object"},{"additionalProperties":false,"properties":{"kind":{"const":"ping","type":"string"}},"required":["kind"],"type":"object"}]},"RequestId":{"maxLength":128,"minLength":1,"pattern":"^[!-~]+$","type":"string"},"Timestamp":{"minimum":0,"type":"integer"}},"additionalProperties":false,"properties":{"body":{"$ref":"#/$defs/RequestBody"},"deadlineAt":{"$ref":"#/$defs/Timestamp"},"documentId":{"maxLength":128,"type":["string","null"]},"expectedOrigin":{"maxLength":8192,"type":"string"},"protocol":{"const":"panelot/content-v1","type":"string"},"requestId":{"$ref":"#/$defs/RequestId"},"schemaHash":{"maxLength":64,"minLength":64,"type":"string"}},"required":["protocol","schemaHash","requestId","expectedOrigin","deadlineAt","body"],"type":"object"} as const;

/** JSON Schema of every answer, for the tests: it is not in the bundle. */
export const RESPONSE_SCHEMA = {"$defs":{"ActionFailure":{"additionalProperties":false,"properties":{"code":{"$ref":"#/$defs/FailureCode"},"coveredBy":{"anyOf":[{"$ref":"#/$defs/Subject"},{"type":"null"}]},"message":{"maxLength":1000,"type":"string"},"options":{"items":{"$ref":"#/$defs/OptionFacts"},"maxItems":100,"type":"array"},"reach":{"$ref":"#/$defs/Reach"},"subject":{"anyOf":[{"$ref":"#/$defs/Subject"},{"type":"null"}]},"value":{"anyOf":[{"$ref":"#/$defs/FieldValue"},{"type":"null"}]}},"required":["code","message","reach"],"type":"object"},"ActionResult":{"oneOf":[{"additionalProperties":false,"properties":{"page":{"$ref":"#/$defs/PageFacts"},"type":{"const":"page","type":"string"}},"required":["type","page"],"type":"object"},{"additionalProperties":false,"properties":{"observed":{"$ref":"#/$defs/Observed"},"type":{"const":"clicked","type":"string"}},"required":["type","observed"],"type":"object"},{"additionalProperties":false,"properties":{"exact":{"type":"boolean"},"observed":{"$ref":"#/$defs/Observed"},"submission":{"$ref":"#/$defs/Submission"},"type":{"const":"typed","type":"string"},"value":{"$ref":"#/$defs/FieldValue"}},"required":["type","value","exact","submission","observed"],"type":"object"},{"additionalProperties":false,"properties":{"observed":{"$ref":"#/$defs/Observed"},"option":{"$ref":"#/$defs/OptionFacts"},"type":{"const":"selected","type":"string"}},"required":["type","option","observed"],"type":"object"}]},"Answer":{"oneOf":[{"additionalProperties":false,"properties":{"kind":{"const":"pong","type":"string"},"origin":{"maxLength":8192,"type":"string"}},"required":["kind","origin"],"type":"object"},{"additionalProperties":false,"properties":{"found":{"type":"boolean"},"kind":{"const":"cancelled","type":"string"}},"required":["kind","found"],"type":"object"},{"additionalProperties":false,"properties":{"kind":{"const":"done","type":"string"},"result":{"$ref":"#/$defs/ActionResult"}},"required":["kind","result"],"type":"object"},{"additionalProperties":false,"properties":{"failure":{"$ref":"#/$defs/ActionFailure"},"kind":{"const":"failed","type":"string"}},"required":["kind","failure"],"type":"object"}]},"EffectSeen":{"oneOf":[{"const":"navigationStarted","type":"string"},{"const":"addressChanged","type":"string"},{"const":"formSubmitted","type":"string"},{"const":"formRefused","type":"string"},{"const":"stateChanged","type":"string"},{"const":"contentChanged","type":"string"},{"const":"focusMoved","type":"string"},{"const":"subjectRemoved","type":"string"}]},"ElementRef":{"pattern":"^[a-z0-9]{4}-[1-9][0-9]{0,8}$","type":"string"},"FailureCode":{"oneOf":[{"const":"stale_ref","type":"string"},{"const":"detached","type":"string"},{"const":"not_visible","type":"string"},{"const":"not_stable","type":"string"},{"const":"covered","type":"string"},{"const":"disabled","type":"string"},{"const":"not_editable","type":"string"},{"const":"read_only","type":"string"},{"const":"secret_field","type":"string"},{"const":"not_a_select","type":"string"},{"const":"no_such_option","type":"string"},{"const":"ambiguous_option","type":"string"},{"const":"option_disabled","type":"string"},{"const":"not_effective","type":"string"},{"const":"unsupported_frame","type":"string"},{"const":"origin_changed","type":"string"},{"const":"protocol_mismatch","type":"string"},{"const":"timeout","type":"string"},{"const":"cancelled","type":"string"},{"const":"internal","type":"string"}]},"FieldValue":{"oneOf":[{"additionalProperties":false,"properties":{"text":{"maxLength":400,"type":"string"},"type":{"const":"text","type":"string"}},"required":["type","text"],"type":"object"},{"additionalProperties":false,"properties":{"filled":{"type":"boolean"},"type":{"const":"secret","type":"string"}},"required":["type","filled"],"type":"object"}]},"FrameFacts":{"oneOf":[{"const":"read","type":"string"},{"const":"otherOrigin","type":"string"},{"const":"tooDeep","type":"string"}]},"Node":{"oneOf":[{"additionalProperties":false,"properties":{"depth":{"maximum":64,"minimum":0,"type":"integer"},"inViewport":{"type":"boolean"},"text":{"maxLength":2000,"type":"string"},"type":{"const":"text","type":"string"}},"required":["type","depth","text"],"type":"object"},{"additionalProperties":false,"properties":{"depth":{"maximum":64,"minimum":0,"type":"integer"},"description":{"maxLength":400,"type":"string"},"frame":{"anyOf":[{"$ref":"#/$defs/FrameFacts"},{"type":"null"}]},"href":{"maxLength":8192,"type":"string"},"inViewport":{"type":"boolean"},"kind":{"maxLength":40,"type":"string"},"name":{"maxLength":400,"type":"string"},"options":{"items":{"$ref":"#/$defs/OptionFacts"},"maxItems":100,"type":"array"},"optionsLeftOut":{"minimum":0,"type":"integer"},"rect":{"anyOf":[{"$ref":"#/$defs/Rect"},{"type":"null"}]},"ref":{"anyOf":[{"$ref":"#/$defs/ElementRef"},{"type":"null"}]},"role":{"maxLength":40,"type":"string"},"states":{"items":{"$ref":"#/$defs/State"},"maxItems":16,"type":"array"},"type":{"const":"element","type":"string"},"value":{"anyOf":[{"$ref":"#/$defs/FieldValue"},{"type":"null"}]}},"required":["type","depth","role"],"type":"object"}]},"Observed":{"additionalProperties":false,"properties":{"announcements":{"items":{"maxLength":400,"type":"string"},"maxItems":8,"type":"array"},"effects":{"items":{"$ref":"#/$defs/EffectSeen"},"maxItems":16,"type":"array"},"settled":{"type":"boolean"},"states":{"items":{"$ref":"#/$defs/State"},"maxItems":16,"type":"array"},"subject":{"$ref":"#/$defs/Subject"},"url":{"maxLength":8192,"type":"string"}},"required":["subject","url","settled"],"type":"object"},"OptionFacts":{"additionalProperties":false,"properties":{"disabled":{"type":"boolean"},"label":{"maxLength":400,"type":"string"},"selected":{"type":"boolean"},"value":{"maxLength":1000,"type":["string","null"]}},"required":["label"],"type":"object"},"PageFacts":{"additionalProperties":false,"properties":{"controlsLeftOut":{"minimum":0,"type":"integer"},"leftOut":{"minimum":0,"type":"integer"},"loading":{"type":"boolean"},"nodes":{"items":{"$ref":"#/$defs/Node"},"maxItems":5000,"type":"array"},"title":{"maxLength":400,"type":"string"},"url":{"maxLength":8192,"type":"string"},"viewport":{"$ref":"#/$defs/Viewport"}},"required":["url","title","loading","viewport","nodes"],"type":"object"},"Reach":{"oneOf":[{"const":"notStarted","type":"string"},{"const":"mayHaveHappened","type":"string"}]},"Rect":{"additionalProperties":false,"properties":{"height":{"minimum":0,"type":"integer"},"width":{"minimum":0,"type":"integer"},"x":{"type":"integer"},"y":{"type":"integer"}},"required":["x","y","width","height"],"type":"object"},"RequestId":{"maxLength":128,"minLength":1,"pattern":"^[!-~]+$","type":"string"},"State":{"oneOf":[{"const":"checked","type":"string"},{"const":"unchecked","type":"string"},{"const":"mixed","type":"string"},{"const":"selected","type":"string"},{"const":"pressed","type":"string"},{"const":"notPressed","type":"string"},{"const":"expanded","type":"string"},{"const":"collapsed","type":"string"},{"const":"disabled","type":"string"},{"const":"readOnly","type":"string"},{"const":"required","type":"string"},{"const":"invalid","type":"string"},{"const":"focused","type":"string"},{"const":"current","type":"string"},{"const":"multiline","type":"string"},{"const":"modal","type":"string"},{"const":"notVisible","type":"string"}]},"Subject":{"additionalProperties":false,"properties":{"name":{"maxLength":400,"type":"string"},"role":{"maxLength":40,"type":"string"}},"required":["role","name"],"type":"object"},"Submission":{"oneOf":[{"const":"notAsked","type":"string"},{"const":"submitted","type":"string"},{"const":"takenByPage","type":"string"},{"const":"refused","type":"string"},{"const":"noForm","type":"string"}]},"Viewport":{"additionalProperties":false,"properties":{"height":{"minimum":0,"type":"integer"},"pageHeight":{"minimum":0,"type":"integer"},"scrollY":{"minimum":0,"type":"integer"},"width":{"minimum":0,"type":"integer"}},"required":["width","height","scrollY","pageHeight"],"type":"object"}},"additionalProperties":false,"properties":{"body":{"$ref":"#/$defs/Answer"},"protocol":{"const":"panelot/content-v1","type":"string"},"requestId":{"$ref":"#/$defs/RequestId"},"schemaHash":{"maxLength":64,"minLength":64,"type":"string"}},"required":["protocol","schemaHash","requestId","body"],"type":"object"} as const;
