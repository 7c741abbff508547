"""Stand up straight, by torque, while being pushed."""

from dataclasses import replace

from paddock.robots import QUADRUPED
from paddock.tasks import terms as t
from paddock.tasks.gait import TrotInPlace
from paddock.tasks.stand import stand

QUADRUPED_STAND = replace(
    stand(QUADRUPED),
    summary="Stand level on joint torques for ten seconds, under a push every two.",
    act=t.JointTorque(),
    expert=TrotInPlace(),
)
