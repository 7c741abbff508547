"""The robot alone: floor, lights, sky and loose objects of a scene file are taken out, and names that scenes need are freed."""

import mujoco

from paddock.robots.import_draft import ON_JOINT, Draft

SCENE_SHAPES = (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD)
PICTURE = (640, 480)
"""Pixels that pictures may at least have."""
RESERVED = ("floor", "sky", "sun")
"""What the scenes of tasks call their own parts."""


def take_out_scene(draft: Draft, model: mujoco.MjModel) -> None:
    """Leave nothing in the spec of `model` but the machine."""
    spec = draft.spec
    robot = _robot_trees(model)
    floats = any(model.jnt_type[model.body_jntadr[b]] == int(mujoco.mjtJoint.mjJNT_FREE) for b in robot if model.body_jntnum[b])
    _drop_world_geoms(draft, everything=floats)
    for body in [body for body in spec.worldbody.bodies if spec.body(body.name) is not None]:
        if body.name in {model.body(b).name for b in robot}:
            continue
        if floats or model.body_treeid[model.body(body.name).id] >= 0 or body.mocap:
            draft.note("dropped", f"body '{body.name}'", "no motor of the robot moves it: it belongs to a scene")
            spec.delete(body)
        else:
            draft.note("warning", f"the fixed body '{body.name}' was kept", "if it belongs to a scene, delete it from the XML")
    bodies = {body.name for body in spec.bodies}
    for camera in [camera for camera in spec.cameras if camera.targetbody and camera.targetbody not in bodies]:
        draft.note("dropped", f"camera '{camera.name}'", "what it looks at belongs to a scene")
        spec.delete(camera)
    if spec.lights:
        draft.note("dropped", f"{len(spec.lights)} light{'s' * (len(spec.lights) > 1)}", "the scene of a task brings its own")
        for light in list(spec.lights):
            spec.delete(light)
    picture = spec.visual.global_  # some files ask for the thumbnails of their own task
    picture.offwidth, picture.offheight = max(picture.offwidth, PICTURE[0]), max(picture.offheight, PICTURE[1])
    _drop_unused_looks(draft)
    _free_reserved_names(draft)


def _robot_trees(model: mujoco.MjModel) -> set[int]:
    """Bodies on the world that carry the robot: what actuators move, or all that has joints where there are none."""
    tops = [b for b in range(1, model.nbody) if model.body_parentid[b] == 0]
    jointed = {b for b in tops if any(model.body_rootid[model.jnt_bodyid[j]] == b for j in range(model.njnt))}
    driven = {int(model.body_rootid[body]) for body in _driven_bodies(model)}
    lone = {b for b in jointed if _is_lone(model, b)}
    return driven or (jointed - lone) or jointed or set(tops)


def _is_lone(model: mujoco.MjModel, top: int) -> bool:
    """Whether a tree moves by a free joint alone, as an object does."""
    inside = [j for j in range(model.njnt) if model.body_rootid[model.jnt_bodyid[j]] == top]
    return all(model.jnt_type[j] == int(mujoco.mjtJoint.mjJNT_FREE) for j in inside)


def _driven_bodies(model: mujoco.MjModel) -> set[int]:
    bodies: set[int] = set()
    for actuator in range(model.nu):
        kind, target = model.actuator_trntype[actuator], int(model.actuator_trnid[actuator, 0])
        if kind in ON_JOINT:
            bodies.add(int(model.jnt_bodyid[target]))
        elif kind == int(mujoco.mjtTrn.mjTRN_TENDON):
            bodies |= tendon_bodies(model, target)
        elif kind in (int(mujoco.mjtTrn.mjTRN_SITE), int(mujoco.mjtTrn.mjTRN_SLIDERCRANK)):
            bodies.add(int(model.site_bodyid[target]))
        elif kind == int(mujoco.mjtTrn.mjTRN_BODY):
            bodies.add(target)
    return bodies - {0}


def tendon_bodies(model: mujoco.MjModel, tendon: int) -> set[int]:
    """Bodies that a tendon runs over."""
    first = model.tendon_adr[tendon]
    bodies: set[int] = set()
    for wrap in range(first, first + model.tendon_num[tendon]):
        kind, target = model.wrap_type[wrap], int(model.wrap_objid[wrap])
        if kind == int(mujoco.mjtWrap.mjWRAP_JOINT):
            bodies.add(int(model.jnt_bodyid[target]))
        elif kind == int(mujoco.mjtWrap.mjWRAP_SITE):
            bodies.add(int(model.site_bodyid[target]))
    return bodies


def _drop_world_geoms(draft: Draft, *, everything: bool) -> None:
    """Planes and height fields; with `everything`, whatever else lies around a robot that floats."""
    spec = draft.spec
    doomed = [geom for geom in spec.worldbody.geoms if everything or geom.type in SCENE_SHAPES]
    names = {geom.name for geom in doomed if geom.name}
    for pair in [pair for pair in spec.pairs if {pair.geomname1, pair.geomname2} & names]:
        draft.note("dropped", f"contact pair of '{pair.geomname1}' and '{pair.geomname2}'", "one of them belongs to a scene")
        spec.delete(pair)
    for sensor in [sensor for sensor in spec.sensors if {sensor.objname, sensor.refname} & names]:
        draft.note("dropped", f"sensor '{sensor.name}'", "what it looks at belongs to a scene")
        spec.delete(sensor)
    for geom in doomed:
        spec.delete(geom)
    if doomed:
        draft.note(
            "dropped",
            f"{len(doomed)} geom{'s' * (len(doomed) > 1)} of the world: {', '.join(sorted(names)) or 'unnamed'}",
            "the scene of a task brings its own",
        )


def _drop_unused_looks(draft: Draft) -> None:
    """Materials and textures that nothing of the robot wears, and the sky."""
    spec = draft.spec
    worn = {item.material for group in (spec.geoms, spec.sites, spec.tendons, spec.skins, spec.flexes) for item in group}
    materials = [material for material in spec.materials if material.name not in worn]
    painted = {name for material in spec.materials if material.name in worn for name in material.textures if name}
    textures = [texture for texture in spec.textures if texture.name not in painted]
    for what, unused in (("material", materials), ("texture", textures)):
        for look in unused:
            spec.delete(look)
        if unused:
            draft.note("dropped", f"{len(unused)} {what}{'s' * (len(unused) > 1)}", "nothing of the robot wears them")


def _free_reserved_names(draft: Draft) -> None:
    """Rename what would be in the way of a scene's own floor and sky."""
    spec = draft.spec
    for name in RESERVED:
        renamed = f"robot_{name}"
        if (geom := spec.geom(name)) is not None:
            for pair in spec.pairs:
                pair.geomname1, pair.geomname2 = (renamed if n == name else n for n in (pair.geomname1, pair.geomname2))
            for sensor in spec.sensors:
                if sensor.objtype == mujoco.mjtObj.mjOBJ_GEOM and sensor.objname == name:
                    sensor.objname = renamed
            geom.name = renamed
            draft.note("changed", f"geom '{name}' is now '{renamed}'", "scenes use this name")
        if (material := spec.material(name)) is not None:
            for item in (*spec.geoms, *spec.sites, *spec.tendons):
                if item.material == name:
                    item.material = renamed
            material.name = renamed
            draft.note("changed", f"material '{name}' is now '{renamed}'", "scenes use this name")
        if (texture := spec.texture(name)) is not None:
            for material in spec.materials:
                for role, used in enumerate(material.textures):
                    if used == name:
                        material.textures[role] = renamed
            texture.name = renamed
            draft.note("changed", f"texture '{name}' is now '{renamed}'", "scenes use this name")
